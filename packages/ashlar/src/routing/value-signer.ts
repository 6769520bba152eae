/** Signs values and recognises them: what signed parameters and signed URLs need. A `Signer` is one. */
export interface ValueSigner {
  /** A URL-safe token that carries the value. */
  sign(value: string): string;
  /** The value that a token carries; `null` where the token was not made by `sign`, or was altered. */
  verify(token: string): string | null;
}
