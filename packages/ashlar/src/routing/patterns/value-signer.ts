/** Signs values and verifies them: what signed parameters and signed URLs need. A `Signer` is one. */
export interface ValueSigner {
  /** Returns a URL-safe token that contains the value. */
  sign(value: string): string;
  /** Returns a token's value; `null` if the token was not made by `sign`, or was altered. */
  verify(token: string): string | null;
}
