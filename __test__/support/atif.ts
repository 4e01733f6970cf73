// Validates ATIF documents with Harbor's own validator, where a Python has it (`pip install harbor`). SESSION_TAPE_ATIF_PYTHON names that Python.
import { spawnSync } from 'node:child_process'
import { expect } from 'vitest'

const PYTHON = process.env['SESSION_TAPE_ATIF_PYTHON'] ?? 'python3'
const SCRIPT = `
import sys
from harbor.utils.trajectory_validator import TrajectoryValidator
for path in sys.argv[1:]:
    validator = TrajectoryValidator()
    validator.validate(__import__('pathlib').Path(path))
    for error in validator.errors:
        print(path, error)
`

/** Why there is no validator; null if there is one. */
export const noValidator =
  spawnSync(PYTHON, ['-c', SCRIPT], { stdio: 'ignore' }).status === 0 ? null : `${PYTHON} can't import harbor`

/** Expects that Harbor accepts these documents. */
export function expectAccepted(...paths: string[]): void {
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', SCRIPT, ...paths], { encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
}
