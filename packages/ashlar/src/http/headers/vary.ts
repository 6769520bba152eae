/** Reports whether a `Vary` names a request header, or all of them (RFC 9110 §12.5.5). */
export function isVaried(vary: string, field: string): boolean {
  const named = vary.split(",").map((one) => one.trim().toLowerCase());
  return named.includes("*") || named.includes(field.toLowerCase());
}
