/** The facts about a machine by which it is told from others. */
export interface Machine {
  CPU: string
  System: string
}

/** The figures of one part on one runtime. `machine` is the one that they were measured on, if it is another one. */
export interface Measured {
  load: number
  machine?: string | undefined
}

/** The figures by part and runtime. */
export interface Results {
  machine: Machine
  runtimes: object
  parts: Record<string, Record<string, Measured>>
}

export function adopted(saved: Results, current: Machine): Results
