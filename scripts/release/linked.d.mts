export interface Crate {
  name: string
  version: string
  directory: string
}

export function linkedCrates(target: { triple: string }): Promise<Crate[]>
export function licencesOfC(crate: Crate): string[]
