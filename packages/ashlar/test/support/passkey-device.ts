import { createRequire } from "node:module";
import type * as Emulator from "nid-webauthn-emulator";
import type { TestClient, TestResponse } from "../../src/testing/index.ts";

const require = createRequire(import.meta.url);
// Its default export is found in one way by Node, and in another by Vitest.
const emulator = require("nid-webauthn-emulator") as typeof Emulator;
// The copy that the emulator has.
repairCbor(createRequire(require.resolve("nid-webauthn-emulator"))("cbor"));
const { AuthenticatorEmulator, deserializeCredential, PasskeysCredentialsMemoryRepository, serializeCredential } =
  emulator;
const { default: Browser } = emulator as unknown as { readonly default: typeof Emulator.WebAuthnEmulator };

type Passkeys = Emulator.PasskeysCredentialsMemoryRepository;

/** What an authenticator may do differently. */
export interface DeviceOptions {
  /** Whether it verifies its user, by a fingerprint or a PIN; default: `true`. */
  readonly userVerified?: boolean;
  /** How much its counter grows with each use; default: 1. */
  readonly counts?: number;
  /** The origin of the page that uses it; default: that of the application. */
  readonly origin?: string;
}

type Json = Readonly<Record<string, unknown>>;

export const ORIGIN = "http://localhost:3000";

/** An authenticator, and the browser that it is connected to. */
export class PasskeyDevice {
  readonly #passkeys: Passkeys;
  readonly #options: Required<DeviceOptions>;

  constructor(options: DeviceOptions = {}, passkeys: Passkeys = new PasskeysCredentialsMemoryRepository()) {
    this.#options = { userVerified: true, counts: 1, origin: ORIGIN, ...options };
    this.#passkeys = passkeys;
  }

  /** A device with passkeys that were saved as text. */
  static with(saved: readonly string[]): PasskeyDevice {
    const passkeys = new PasskeysCredentialsMemoryRepository();
    for (const text of saved) passkeys.saveCredential(deserializeCredential(text));
    return new PasskeyDevice({}, passkeys);
  }

  /** The same passkeys in other circumstances: a page of another origin, or without a fingerprint. */
  but(options: DeviceOptions): PasskeyDevice {
    return new PasskeyDevice({ ...this.#options, ...options }, this.#passkeys);
  }

  /** A copy of its passkeys, with their counters. */
  copy(): PasskeyDevice {
    const copy = new PasskeysCredentialsMemoryRepository();
    for (const passkey of this.#passkeys.loadCredentials())
      copy.saveCredential(deserializeCredential(serializeCredential(passkey)));
    return new PasskeyDevice(this.#options, copy);
  }

  /** What `navigator.credentials.create` returns. */
  create(options: unknown): Json {
    return this.#browser.createJSON(this.#options.origin, options as never) as unknown as Json;
  }

  /** What `navigator.credentials.get` returns. */
  get(options: unknown): Json {
    return this.#browser.getJSON(this.#options.origin, options as never) as unknown as Json;
  }

  get #browser(): Emulator.default {
    const { userVerified, counts } = this.#options;
    const interaction = () => ({ options: { uv: userVerified, up: true } });
    return new Browser(
      new AuthenticatorEmulator({
        credentialsRepository: this.#passkeys,
        signCounterIncrement: counts,
        verifications: { userPresent: true, userVerified },
        userMakeCredentialInteraction: interaction,
        userGetAssertionInteraction: interaction,
      }),
    );
  }
}

/** The options that a visitor's script asks for. */
export async function optionsFor(client: TestClient, path: string): Promise<Json> {
  const { data } = (await client.withCsrfToken().postJson(`${path}/options`)).assertStatus(200).json as { data: Json };
  return (data.options ?? data) as Json;
}

/** Adds a passkey to the account of a user who is logged in. */
export async function addPasskey(client: TestClient, device: PasskeyDevice, name = "Phone"): Promise<TestResponse> {
  const credential = device.create(await optionsFor(client, "/account/passkeys"));
  return client.postJson("/account/passkeys", { credential, name });
}

/** Logs a visitor in with a passkey, or has a user confirm with one. */
export async function proveBy(
  client: TestClient,
  device: PasskeyDevice,
  path: "/login/passkey" | "/confirm_passkey" = "/login/passkey",
  more: object = {},
): Promise<TestResponse> {
  const assertion = device.get(await optionsFor(client, path));
  return client.postJson(path, { assertion, ...more });
}

/** An encoder of CBOR, which is a stream. */
interface CborEncoder {
  pushAny(value: unknown): boolean;
  read(): Buffer | null;
}

/** Since Node.js 26, a stream returns each chunk by itself, and the emulator's encoder reads only the first. */
function repairCbor(cbor: { encode: (value: unknown) => Buffer; readonly Encoder: new () => CborEncoder }): void {
  cbor.encode = (value) => {
    const encoder = new cbor.Encoder();
    encoder.pushAny(value);
    const chunks: Buffer[] = [];
    for (let chunk = encoder.read(); chunk !== null; chunk = encoder.read()) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
}
