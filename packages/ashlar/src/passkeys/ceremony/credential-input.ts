/** What a browser's `PublicKeyCredential.toJSON()` returns, as far as it is used, checked for its form. */
export interface CredentialInput {
  /** The credential's id, in base64url. */
  readonly id: string;
  /** The challenge that was answered, in base64url. */
  readonly challenge: string;
  readonly clientDataJSON: string;
  readonly transports: readonly string[];
  /** Of a new credential; otherwise `null`. */
  readonly attestationObject: string | null;
  /** Of an existing credential; otherwise `null`. */
  readonly assertion: CredentialAssertion | null;
}

/** What an existing credential has signed. */
export interface CredentialAssertion {
  readonly authenticatorData: string;
  readonly signature: string;
  /** The user handle that the credential was made with, in base64url; `null` if the client sent none. */
  readonly userHandle: string | null;
}

const BASE64URL = /^[\w-]{1,8192}$/;
/** More than any authenticator sends. */
const MAX_TEXT = 32_768;
const MAX_TRANSPORTS = 8;
const TRANSPORT = /^[a-z-]{1,16}$/;

/**
 * Reads a credential from an input.
 *
 * @param input the JSON text of a form, or what API clients send as an object
 * @returns `null` if it isn't one
 */
export function readCredential(input: unknown): CredentialInput | null {
  const credential = objectFrom(input);
  const response = objectFrom(credential?.response);
  if (credential === null || response === null || credential.type !== "public-key") return null;
  const { id } = credential;
  const { clientDataJSON, attestationObject = null, transports = [] } = response;
  if (!isBase64url(id) || credential.rawId !== id || !isBase64url(clientDataJSON)) return null;
  const challenge = challengeIn(clientDataJSON);
  if (challenge === null || !(attestationObject === null || isBase64url(attestationObject))) return null;
  const assertion = assertionIn(response);
  if ((attestationObject === null) === (assertion === null)) return null;
  return { id, challenge, clientDataJSON, attestationObject, assertion, transports: transportsIn(transports) };
}

function assertionIn(response: Readonly<Record<string, unknown>>): CredentialAssertion | null {
  const { authenticatorData, signature, userHandle } = response;
  if (!isBase64url(authenticatorData) || !isBase64url(signature)) return null;
  return { authenticatorData, signature, userHandle: isBase64url(userHandle) ? userHandle : null };
}

/** Hints for browsers, which ignore unknown ones. */
function transportsIn(transports: unknown): readonly string[] {
  if (!Array.isArray(transports)) return [];
  return transports.filter((one) => typeof one === "string" && TRANSPORT.test(one)).slice(0, MAX_TRANSPORTS);
}

function challengeIn(clientDataJSON: string): string | null {
  const challenge = objectFrom(Buffer.from(clientDataJSON, "base64url").toString())?.challenge;
  return isBase64url(challenge) ? challenge : null;
}

function isBase64url(value: unknown): value is string {
  return typeof value === "string" && BASE64URL.test(value);
}

function objectFrom(value: unknown): Readonly<Record<string, unknown>> | null {
  let read = value;
  if (typeof value === "string") {
    if (value.length > MAX_TEXT) return null;
    try {
      read = JSON.parse(value);
    } catch {
      return null;
    }
  }
  return typeof read === "object" && read !== null ? (read as Readonly<Record<string, unknown>>) : null;
}
