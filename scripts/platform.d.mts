export function platformName(): string
export function addonFile(): string
