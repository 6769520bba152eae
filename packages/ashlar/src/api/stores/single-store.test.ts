import { generateKeyPairSync } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { Person } from "../../../test/support/people.ts";
import { CompleteLogin, type UserId } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, setClock } from "../../support/index.ts";
import { GrantedAbilities } from "../abilities.ts";
import { type CompleteJwtSettings, readApiSettings } from "../settings/driver-settings.ts";
import type { TokenHolder } from "../token-holder.ts";
import type { VerifiedJwt } from "../verifier.ts";
import { SingleStore } from "./single-store.ts";

const SECRET = "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-one";
const REQUEST = { address: null, userAgent: null };

/** The digests of the active tokens, by user, and the arguments of `revokeToken`. */
let active: Map<number, Set<string>>;
let revoked: (string | undefined)[];

/**
 * Users of a separate class. Each has several tokens, which are stored elsewhere, so that every call is asynchronous.
 */
class Holder extends Person implements TokenHolder {
  static override async findByAuthId(id: UserId): Promise<Holder | null> {
    const person = await Person.findByAuthId(id);
    return person === null ? null : new Holder(person.row);
  }

  static async replaceToken(id: UserId, replaced: string, successor: string): Promise<boolean> {
    await nextTurn();
    const tokens = active.get(Number(id))!;
    if (!tokens.delete(replaced)) return false;
    tokens.add(successor);
    return true;
  }

  get #tokens(): Set<string> {
    return active.get(this.authId())!;
  }

  async holdsToken(token: string): Promise<boolean> {
    await nextTurn();
    return this.#tokens.has(token);
  }

  async activateToken(token: string): Promise<void> {
    await nextTurn();
    this.#tokens.add(token);
  }

  async revokeToken(token?: string): Promise<void> {
    await nextTurn();
    revoked.push(token);
    if (token === undefined) this.#tokens.clear();
    else this.#tokens.delete(token);
  }
}

beforeEach(async () => {
  await Person.populate("correct horse battery");
  active = new Map([1, 2, 3].map((id) => [id, new Set()]));
  revoked = [];
});

/** The tokens of {@link Holder}, and a user with two of them. */
async function make(options: object = {}, abilities?: GrantedAbilities) {
  const [settings] = readApiSettings({ jwt: { secret: SECRET, model: Holder, ...options } });
  const tokens = new SingleStore(settings as CompleteJwtSettings, abilities ?? new GrantedAbilities());
  const user = (await Holder.findByAuthId(1))!;
  const issue = async () => (await tokens.issue(user, REQUEST)).token;
  return { tokens, user, issue, one: await issue(), other: await issue() };
}

/** Admits every user, like a guard without steps. */
async function admit(user: object): Promise<CompleteLogin> {
  const login = { context: {} as HttpContext, guard: "jwt", user, purpose: "renewal", passed: [] } as const;
  return (await CompleteLogin.judge([], login, async () => false)) as CompleteLogin;
}

/** Refuses every user asynchronously, like a step. */
async function refuse(): Promise<never> {
  await nextTurn();
  throw new AshlarError("E_LOGIN_REFUSED", "This account is blocked.");
}

const inactive = { failure: "inactive", userId: "1" };

function ecKey(namedCurve: string): string {
  return generateKeyPairSync("ec", { namedCurve }).privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

describe("users of a separate class, whose tokens are looked up elsewhere", () => {
  test("a token that is not active belongs to no user, and is neither renewed nor revoked", async () => {
    const { tokens, one } = await make({ authenticates: true });
    const verified = (token: string) => tokens.verify(token) as VerifiedJwt;
    const never = tokens.sign(1);
    expect(await tokens.findActiveUser(one, verified(one))).toMatchObject({ row: { id: 1 } });
    expect(await tokens.findActiveUser(never, verified(never))).toBeNull();
    expect(await tokens.findUser(never, verified(never))).toEqual(inactive);
    expect(await tokens.renew(never, REQUEST, admit)).toEqual(inactive);
    expect([await tokens.revoke(never), revoked]).toEqual([null, []]);
  });

  test("a renewal replaces the token that was presented, and no other", async () => {
    const { tokens, one, other } = await make();
    const renewed = await tokens.renew(one, REQUEST, admit);
    expect(renewed).toMatchObject({ userId: "1", isRepeated: false });
    expect(active.get(1)).toEqual(new Set([digest(other), digest((renewed as { token: string }).token)]));
  });

  test("a user who no longer exists has no token", async () => {
    const { tokens } = await make();
    const token = tokens.sign(99);
    expect(await tokens.renew(token, REQUEST, admit)).toEqual({ failure: "inactive", userId: "99" });
    expect(await tokens.revoke(token)).toBeNull();
  });

  test("a user who is deleted during a renewal has no token afterwards", async () => {
    const { tokens, one } = await make();
    const deletes = async (user: object) => {
      Person.rows = Person.rows.filter(({ id }) => id !== 1);
      active.get(1)!.clear();
      return await admit(user);
    };
    expect(await tokens.renew(one, REQUEST, deletes)).toEqual(inactive);
  });
});

describe("S29 a user who is refused by a login step", () => {
  test("keeps the token, and doesn't get another", async () => {
    const { tokens, one, other } = await make();
    await expect(tokens.renew(one, REQUEST, refuse)).rejects.toThrow("This account is blocked.");
    expect(active.get(1)).toEqual(new Set([digest(one), digest(other)]));
  });

  test("does not get a lost response again, either", async () => {
    const { tokens, one } = await make();
    await tokens.renew(one, REQUEST, admit);
    await expect(tokens.renew(one, REQUEST, refuse)).rejects.toThrow("This account is blocked.");
    expect(await tokens.renew(one, REQUEST, admit)).toMatchObject({ isRepeated: true });
  });
});

describe("a logout ends", () => {
  test("only the request's token, even if it has expired", async () => {
    const { tokens, one, other } = await make({ expires: 1 });
    setClock(() => Date.now() + 3_600_000);
    onTestFinished(() => setClock(null));
    expect(await tokens.revoke(one)).toBe("1");
    expect([revoked, active.get(1)]).toEqual([[digest(one)], new Set([digest(other)])]);
    expect(await tokens.revoke(one)).toBeNull();
  });

  test("the request's token, in a handler", async () => {
    const { tokens, user, one, other } = await make();
    await tokens.forget(user, one);
    expect([revoked, active.get(1)]).toEqual([[digest(one)], new Set([digest(other)])]);
  });

  test("the token that has just replaced the request's, and no other", async () => {
    for (const byRoute of [true, false]) {
      const { tokens, user, one, other } = await make();
      const { token } = (await tokens.renew(one, REQUEST, admit)) as { token: string };
      if (byRoute) expect(await tokens.revoke(one)).toBe("1");
      else await tokens.forget(user, one);
      expect([revoked.splice(0), active.get(1)]).toEqual([[digest(token)], new Set([digest(other)])]);
      active.get(1)!.clear();
    }
  });

  test("nothing if the request's token was replaced more than a minute ago", async () => {
    const { tokens, user, one, other } = await make();
    const { token } = (await tokens.renew(one, REQUEST, admit)) as { token: string };
    setClock(() => Date.now() + 66_000);
    onTestFinished(() => setClock(null));
    expect(await tokens.revoke(one)).toBeNull();
    await tokens.forget(user, one);
    expect([revoked, active.get(1)]).toEqual([[], new Set([digest(other), digest(token)])]);
  });

  test("all of the user's tokens in a request without one", async () => {
    const { tokens, user } = await make();
    await tokens.forget(user, null);
    expect([revoked, active.get(1)]).toEqual([[undefined], new Set()]);
  });

  test("nothing for a guest without a token", async () => {
    const { tokens } = await make();
    await tokens.forget(null, null);
    expect([revoked, active.get(1)!.size]).toEqual([[], 2]);
  });
});

describe("with signatures that differ each time", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });

  test.each([
    ["ES256", ecKey("P-256")],
    ["ES384", ecKey("P-384")],
    ["ES512", ecKey("P-521")],
    ["PS256", rsa],
    ["PS384", rsa],
    ["PS512", rsa],
  ])("a lost response is repeated, and a logout ends the token by its signed part: %s", async (algorithm, secret) => {
    const { tokens, user, one, other } = await make({ algorithm, secret });
    const claims = (token: string) => token.slice(0, token.lastIndexOf("."));
    const first = (await tokens.renew(one, REQUEST, admit)) as { token: string };
    const second = (await tokens.renew(one, REQUEST, admit)) as { token: string };
    expect(second).toMatchObject({ isRepeated: true });
    expect([second.token === first.token, claims(second.token)]).toEqual([false, claims(first.token)]);
    expect(active.get(1)).toEqual(new Set([digest(claims(other)), digest(claims(first.token))]));
    expect(await tokens.revoke(second.token)).toBe("1");
    await tokens.forget(user, other);
    expect([revoked, active.get(1)]).toEqual([[digest(claims(first.token)), digest(claims(other))], new Set()]);
  });

  test("a token that an earlier version stored in full ends with a logout, too", async () => {
    const { tokens, user } = await make({ algorithm: "ES256", secret: ecKey("P-256") });
    for (const end of [(old: string) => tokens.revoke(old), (old: string) => tokens.forget(user, old)]) {
      const old = tokens.sign(1);
      await user.activateToken(digest(old));
      await end(old);
      expect([revoked.at(-1), active.get(1)!.has(digest(old))]).toEqual([digest(old), false]);
    }
  });
});

test("a renewed token has its predecessor's abilities, as far as the user may still grant them", async () => {
  let may = ["orders.read", "orders.write"];
  const { tokens, user } = await make({}, new GrantedAbilities(null, async () => may));
  const abilities = ["orders.read", "orders.write"];
  const { token } = await tokens.issue(user, { ...REQUEST, abilities });
  may = ["orders.read"];
  const scopeIn = (jwt: string) => JSON.parse(Buffer.from(jwt.split(".")[1]!, "base64url").toString()).scope;
  for (const isRepeated of [false, true]) {
    const renewed = (await tokens.renew(token, REQUEST, admit)) as { token: string };
    expect(renewed).toMatchObject({ isRepeated, abilities: ["orders.read"] });
    expect(scopeIn(renewed.token)).toBe("orders.read");
  }
});
