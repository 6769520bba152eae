/**
 * Restores the text of a PEM file that may have been stored in one line, such as in a variable, with `\n` for line
 * breaks, and possibly in quotes. Tools that don't support the syntax of `.env` files (`docker run --env-file`,
 * systemd) leave both in the value.
 */
export function pemText(value: string): string {
  const unquoted = /^"[^"]*"$/.test(value) ? value.slice(1, -1) : value;
  return unquoted.replaceAll("\\n", "\n");
}

/**
 * The keys in a text of concatenated PEM files, each with a line break at its end. A truncated key is included, so that
 * parsing it fails.
 */
export function pemBlocks(value: string): string[] {
  const parts = pemText(value).split(/(?=-----BEGIN )/);
  return parts.filter((part) => part.startsWith("-----BEGIN ")).map((part) => `${part.trim()}\n`);
}
