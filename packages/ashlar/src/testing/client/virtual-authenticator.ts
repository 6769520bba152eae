import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A passkey, with the site that it belongs to. */
interface Kept {
  readonly id: string;
  readonly key: KeyObject;
  readonly domain: string;
  readonly userHandle: string;
  counter: number;
}

/** The members of `PublicKeyCredentialCreationOptionsJSON` that it reads. */
interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}

/** The members of `PublicKeyCredentialRequestOptionsJSON` that it reads. */
interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allowCredentials?: readonly { readonly id: string }[];
}

/** What a browser gets from an authenticator: `PublicKeyCredential.toJSON()`. */
type CredentialJson = Readonly<Record<string, unknown>>;

// Bits of the flags in authenticator data (WebAuthn Level 3 §6.1).
const PRESENT = 0x01;
const VERIFIED = 0x04;
const NEW_CREDENTIAL = 0x40;

/**
 * A device that keeps passkeys, for tests of pages and routes that use them. It makes keys for ES256, and verifies its user.
 *
 * ```ts
 * const device = new VirtualAuthenticator();
 * const { data } = (await client.postJson("/account/passkeys/options")).json as { data: { options: object } };
 * await client.postJson("/account/passkeys", { credential: device.create(data.options) });
 * ```
 *
 * A form has the credential as text: `{ credential: JSON.stringify(device.create(options)) }`.
 */
export class VirtualAuthenticator {
  readonly #origin: string;
  readonly #passkeys: Kept[] = [];

  /**
   * @param origin the origin of the pages that use it, as of `APP_URL`; default: that of a test client's requests without `APP_URL`
   */
  constructor(origin: string = "http://localhost:3000") {
    this.#origin = origin;
  }

  /**
   * Makes a passkey, as `navigator.credentials.create` does.
   *
   * @param options the options that the application has sent, as JSON
   * @returns the credential as JSON
   */
  create(options: object): CredentialJson {
    const { challenge, rp, user } = options as CreationOptions;
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const id = randomBytes(32);
    const passkey: Kept = {
      id: id.toString("base64url"),
      key: privateKey,
      domain: rp.id,
      userHandle: user.id,
      counter: 0,
    };
    this.#passkeys.push(passkey);
    const data = Buffer.concat([
      authenticatorData(passkey, NEW_CREDENTIAL),
      // The model, which it doesn't tell.
      Buffer.alloc(16),
      Buffer.from([0, id.length]),
      id,
      coseKey(publicKey),
    ]);
    const response = { attestationObject: attestationObject(data), transports: ["internal"] };
    return this.#credential(passkey, "webauthn.create", challenge, response);
  }

  /**
   * Uses the newest of its passkeys that fits, as `navigator.credentials.get` does.
   *
   * @param options the options that the application has sent, as JSON
   * @returns the credential as JSON
   * @throws `Error` if it has none that fits
   */
  get(options: object): CredentialJson {
    const { challenge, rpId, allowCredentials = [] } = options as RequestOptions;
    const fits = ({ domain, id }: Kept) =>
      domain === rpId && (allowCredentials.length === 0 || allowCredentials.some((one) => one.id === id));
    const passkey = this.#passkeys.findLast(fits);
    if (passkey === undefined) throw new Error(`The virtual authenticator has no passkey for ${rpId} that fits.`);
    passkey.counter++;
    const data = authenticatorData(passkey);
    const signed = Buffer.concat([data, sha256(this.#clientData("webauthn.get", challenge))]);
    const signature = sign("sha256", signed, passkey.key);
    return this.#credential(passkey, "webauthn.get", challenge, {
      authenticatorData: data.toString("base64url"),
      signature: signature.toString("base64url"),
      userHandle: passkey.userHandle,
    });
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }));
  }

  #credential({ id }: Kept, type: string, challenge: string, response: object): CredentialJson {
    const clientDataJSON = this.#clientData(type, challenge).toString("base64url");
    const own = { id, rawId: id, type: "public-key", authenticatorAttachment: "platform", clientExtensionResults: {} };
    return { ...own, response: { clientDataJSON, ...response } };
  }
}

/** What an authenticator signs (WebAuthn Level 3 §6.1). */
function authenticatorData({ domain, counter }: Kept, flags = 0): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  return Buffer.concat([sha256(domain), Buffer.from([PRESENT | VERIFIED | flags]), count]);
}

/** A public key of P-256 in COSE form (RFC 9053 §2.1), in CBOR. */
function coseKey(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: "jwk" });
  const coordinate = (label: number, value: string) =>
    Buffer.concat([Buffer.from([label, 0x58, 32]), Buffer.from(value, "base64url")]);
  const type = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]);
  return Buffer.concat([type, coordinate(0x21, x!), coordinate(0x22, y!)]);
}

/** An attestation object that attests nothing (WebAuthn Level 3 §8.7), in CBOR. */
function attestationObject(data: Buffer): string {
  const text = (value: string) => Buffer.from([0x60 + value.length, ...Buffer.from(value)]);
  const entries = [text("fmt"), text("none"), text("attStmt"), Buffer.from([0xa0]), text("authData")];
  return Buffer.concat([Buffer.from([0xa3]), ...entries, Buffer.from([0x58, data.length]), data]).toString("base64url");
}

function sha256(data: string | Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}
