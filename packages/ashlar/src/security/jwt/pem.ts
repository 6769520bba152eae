/**
 * Restores the text of a PEM file that may have been stored in one line, as in a variable: with `\n` for the line
 * breaks, and maybe in quotes. Tools that don't support the syntax of `.env` files (`docker run --env-file`, systemd)
 * leave both in the value.
 */
export function pemText(value: string): string {
  const unquoted = /^"[^"]*"$/.test(value) ? value.slice(1, -1) : value;
  return unquoted.replaceAll("\\n", "\n");
}

/**
 * The keys in a text of several PEM files, one after the other, each with a line break at its end. A truncated key is
 * included, so that reading it as a key fails.
 */
export function pemBlocks(value: string): string[] {
  const parts = pemText(value).split(/(?=-----BEGIN )/);
  return parts.filter((part) => part.startsWith("-----BEGIN ")).map((part) => `${part.trim()}\n`);
}
