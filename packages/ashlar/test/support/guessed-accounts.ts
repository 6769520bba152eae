import { afterEach, beforeEach } from "vitest";
import type { PasswordHasher } from "../../src/security/index.ts";
import { freeze, linksIn, quickHasher, travelBack } from "../../src/testing/index.ts";
import { memoryStore } from "../../src/throttle/index.ts";
import { ADA, type TestAccounts, testAccounts, type Visitor } from "./account-application.ts";
import { PASSWORD } from "./application-parts.ts";
import type { Page } from "./browser.ts";

let start = 0;
/** Stops the clock in each test of a file, except for {@link at}. */
export function standStill(): void {
  beforeEach(() => {
    start = Date.now();
    at(0);
  });
  afterEach(travelBack);
}

/** Counts password comparisons, and can hold them back. */
export class WatchedHasher implements PasswordHasher {
  readonly #hasher = quickHasher();
  compared = 0;
  running = 0;
  most = 0;
  #gate: Promise<void> = Promise.resolve();

  /** Holds comparisons back until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return resolve;
  }

  hash(password: string): Promise<string> {
    return this.#hasher.hash(password);
  }

  async verify(hash: string | null, password: string): Promise<boolean> {
    this.compared++;
    this.most = Math.max(this.most, ++this.running);
    await this.#gate;
    this.running--;
    return this.#hasher.verify(hash, password);
  }

  needsRehash(hash: string): boolean {
    return this.#hasher.needsRehash(hash);
  }
}

export interface Shop {
  readonly accounts: TestAccounts;
  readonly hasher: WatchedHasher;
}

/** An application with the framework's own limits, and Ada, whose address is verified. */
export async function open(options: Parameters<typeof testAccounts>[0] = {}): Promise<Shop> {
  const hasher = new WatchedHasher();
  const accounts = await testAccounts({ hasher, throttle: {}, store: memoryStore(), ...options });
  await (await accounts.user()).markEmailAsVerified();
  await accounts.mails();
  return { accounts, hasher };
}

/** Moves the clock to this many minutes after the test's beginning. */
export function at(minutes: number): void {
  freeze(new Date(start + minutes * 60_000));
}

const hex = (value: number): string => value.toString(16);

/** The address of a bot: half of them in IPv4, half in the 65,536 networks of one IPv6 site. */
export function addressOf(bot: number): string {
  return bot % 2 === 0 ? `100.64.${bot >> 8}.${bot & 255}` : `2001:db8:1:${hex(bot)}::${hex(bot + 1)}`;
}

export async function login(visitor: Visitor, email: string, password: string): Promise<Page> {
  visitor.cookies.delete("__Host-token");
  visitor.cookies.delete("token");
  return visitor.post("/login", { email, password }, { accept: "application/json" });
}

export const guess = (shop: Shop, bot: number, email: string = ADA.email): Promise<Page> => {
  return login(shop.accounts.visitor({ ip: addressOf(bot) }), email, `a guess, number ${bot}`);
};

export const isIn = async (visitor: Visitor, password: string = PASSWORD): Promise<boolean> => {
  return (await login(visitor, ADA.email, password)).status === 200;
};

/** The mails to Ada about guesses. */
export async function warnings({ accounts }: Shop): ReturnType<TestAccounts["mails"]> {
  return (await accounts.mails()).filter(({ subject }) => subject.startsWith("Wrong passwords were tried"));
}

/** The path of the link in a mail about guesses. */
export const pathIn = (mail: Parameters<typeof linksIn>[0]): string => {
  return new URL(linksIn(mail).find((url) => url.includes("/login/device/"))!).pathname;
};

/** A thief with a copy of a visitor's device cookies, at another address. */
export function copyOf({ accounts }: Shop, { cookies }: Visitor, ip: string): Visitor {
  const copy = accounts.visitor({ ip });
  copy.cookies.set("__Host-device", cookies.get("__Host-device")!);
  return copy;
}

export const CHANGED = "another password of hers";

export async function changePassword(visitor: Visitor): Promise<void> {
  const change = { current_password: PASSWORD, password: CHANGED, password_confirmation: CHANGED };
  const { status } = await visitor.post("/account/password", change, { accept: "application/json" });
  if (status !== 200) throw new Error(`The password was not changed: ${status}.`);
}

/** Uses up a device's guesses, despite the limit of five attempts in five minutes. */
export async function useUp(device: Visitor): Promise<void> {
  for (let round = 0; round < 44; round++) {
    at(round * 5.1);
    for (let attempt = 0; attempt < 5; attempt++) await login(device, ADA.email, `a guess in round ${round}`);
  }
}
