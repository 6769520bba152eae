/** RFC 8187 §3.2.1: what `encodeURIComponent` leaves and an extended value may not hold. */
const NOT_ATTR_CHAR = /['()*]/g;

/** What a file name may not hold on one of the systems it is saved on, or what could turn its reading around. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Cs}/\\:*?"<>|]/gu;

/**
 * A `Content-Disposition` that makes the browser save the answer under a name (RFC 6266 §4).
 *
 * The name goes out twice where it is more than ASCII: in plain letters for old clients, and whole (RFC 8187).
 *
 * @param name the file's name; characters that no system allows in one, path separators among them, become `_`
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
