export function linkedCrates(target: { triple: string }): Set<string>
export function licencesOfC(crate: { name: string; directory: string }): string[]
