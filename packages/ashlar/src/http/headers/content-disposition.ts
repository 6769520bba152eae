/** Characters that `encodeURIComponent` keeps but an extended value must not contain (RFC 8187 §3.2.1). */
const NOT_ATTR_CHAR = /['()*]/g;

/** Characters that some systems don't allow in file names, or that could reverse the reading direction. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Cs}/\\:*?"<>|]/gu;

/**
 * Returns a `Content-Disposition` that makes the browser save the response under a name (RFC 6266 §4).
 *
 * A name with non-ASCII characters is sent twice: reduced to ASCII for old clients, and complete (RFC 8187).
 *
 * @param name the file's name; characters that some systems don't allow, and path separators, become `_`
 */
export function attachment(name: string): string {
  const safe = name.replace(UNSAFE, "_").replace(/^\.+$/, "_").trim() || "download";
  const plain = safe.replace(/[^\x20-\x7e]/g, "_").replaceAll("%", "_");
  const simple = `attachment; filename="${plain}"`;
  if (plain === safe) return simple;
  const whole = encodeURIComponent(safe).replace(
    NOT_ATTR_CHAR,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${simple}; filename*=UTF-8''${whole}`;
}
