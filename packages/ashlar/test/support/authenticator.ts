import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import type { TestClient, TestResponse } from "../../src/testing/index.ts";

/** How an authenticator may differ from the default. */
interface Answering {
  /** Whether it has verified its user, by a fingerprint or a PIN; default: `false`. */
  readonly userVerified?: boolean;
  /** The counter that it reports; default: one more than before. */
  readonly counter?: number;
}

/** A device with a passkey: it keeps the private key, and signs challenges. */
export class Authenticator {
  readonly #credential: string = randomUUID();
  readonly #keys = generateKeyPairSync("ed25519");
  #counter = 0;

  /** Makes a new passkey. */
  make(challenge: string): string {
    const publicKey = this.#keys.publicKey.export({ format: "der", type: "spki" }).toString("base64");
    return this.#say({ credential: this.#credential, challenge, counter: 0, userVerified: true, publicKey });
  }

  /** Answers a challenge. */
  answer(challenge: string, { userVerified = false, counter }: Answering = {}): string {
    this.#counter++;
    return this.#say({ credential: this.#credential, challenge, counter: counter ?? this.#counter, userVerified });
  }

  #say(said: object): string {
    const payload = Buffer.from(JSON.stringify(said)).toString("base64url");
    return `${payload}.${sign(null, Buffer.from(payload), this.#keys.privateKey).toString("base64url")}`;
  }
}

/** The form's challenge. */
export function challengeOf(page: TestResponse, action: string): string {
  return page.form(`[action="${action}"]`).attributes.get("data-challenge")!;
}

/** Does what the page's script does: lets an authenticator answer the challenge, and sends the form. */
export async function sendAnswer(
  client: TestClient,
  path: string,
  authenticator: Authenticator,
  answering: Answering = {},
): Promise<TestResponse> {
  const page = await client.get(path);
  const assertion = authenticator.answer(challengeOf(page, path), answering);
  return client.submit(page, `[action="${path}"]`, { assertion });
}

/** Adds a passkey on the page for passkeys. */
export async function addPasskey(
  client: TestClient,
  name: string,
  device: Authenticator = new Authenticator(),
): Promise<Authenticator> {
  const page = await client.get("/account/passkeys");
  const assertion = device.make(challengeOf(page, "/account/passkeys"));
  const added = await client.submit(page, '[action="/account/passkeys"]', { name, assertion });
  (await client.follow(added)).assertSee("The passkey was added.", `Remove ${name}`);
  return device;
}
