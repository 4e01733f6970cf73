export function noticesText(file: string, notices: { title: string; text: string }[]): string
