/** A number of things in words: `1 minute`, `2 minutes`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
