/**
 * Reports whether the length of a body can be determined: it has no transfer coding, or only `chunked`. Others have to be
 * refused with 501 (RFC 9112 §6.1).
 *
 * Security: `gzip, chunked` is as long as `chunked` says, but nothing here can read it, and a proxy that reads the list
 * differently finds another request in it.
 *
 * @param coding the value of `Transfer-Encoding`
 */
export function isKnownCoding(coding: string | null | undefined): boolean {
  return coding === null || coding === undefined || coding.toLowerCase() === "chunked";
}
