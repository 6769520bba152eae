import { generateKeyPairSync } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { many, personal, single } from "../../src/api/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { setClock } from "../../src/support/index.ts";
import { ADA, type Answer, BOB, PASSWORD, SECRET } from "../support/api-application.ts";
import { type ManyTokensApi, manyTokensApi } from "../support/many-tokens.ts";
import { migrationOfStub } from "../support/migration-folder.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";

const MINUTE = 60_000;

/** The drivers of the strategies: access tokens live ten minutes in the first two, and personal tokens a day. */
const STRATEGIES = {
  single: { tokens: single(), expires: 10 },
  many: { tokens: many({ accessMinutes: 10, refreshDays: 30 }) },
  personal: { tokens: single(), expires: 10, personal: personal() },
} as const;

type Strategy = keyof typeof STRATEGIES;

/** Key settings: the signing keys, other keys, and settings that still verify the former keys. */
interface Keys {
  readonly current: object;
  readonly next: object;
  readonly former: readonly string[];
  /** The reason for refusing a token that no key verifies. */
  readonly refusal: string;
}

function ecKey(): { readonly secret: string; readonly former: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    secret: privateKey.export({ format: "pem", type: "pkcs8" }) as string,
    former: publicKey.export({ format: "pem", type: "spki" }) as string,
  };
}

const [EC, OTHER_EC] = [ecKey(), ecKey()];

/** A secret, and a key pair, whose signatures differ each time. */
const KEYS: Readonly<Record<"HS512" | "ES256", Keys>> = {
  HS512: { current: { secret: SECRET }, next: { secret: generateSecret() }, former: [SECRET], refusal: "signature" },
  ES256: {
    current: { algorithm: "ES256", secret: EC.secret },
    next: { algorithm: "ES256", secret: OTHER_EC.secret },
    former: [EC.former],
    // Its keys have names.
    refusal: "unknown_key",
  },
};

/** A token: the part that requests send, and the part that renews it. */
interface Held {
  readonly access: string;
  readonly renewal: string;
}

/** What an application does with a token in one state. */
interface Outcome {
  /** The response to a request with it. */
  readonly access: number | readonly [status: number, code: string];
  /** The response to its renewal. */
  readonly renewal: number;
  /** Why it was refused, each time. */
  readonly reasons: readonly string[];
  /** The other events, without the prefix `api.token_`. */
  readonly told: readonly string[];
  /** The stored data about it afterwards. */
  readonly row: "active" | "revoked" | "none";
}

interface Case {
  readonly state: string;
  /** The driver's options, in addition to the strategy's. */
  readonly driver?: object;
  /** Options of the driver after a deployment; default: no deployment. */
  readonly later?: object | ((keys: Keys) => object);
  /** The path that is requested. */
  readonly path?: string;
  /** Brings the token into the state; returns the token to check if it is a different one. */
  readonly reach?: (tokens: ManyTokensApi, held: Held) => Promise<unknown>;
  readonly single: Outcome | null;
  readonly many: Outcome | null;
  readonly personal: Outcome | null;
}

const OK: Outcome = { access: 200, renewal: 200, reasons: [], told: ["renewed"], row: "active" };
const ENDED = (row: Outcome["row"]): Outcome => ({
  access: [401, "E_INVALID_TOKEN"],
  renewal: 401,
  reasons: ["inactive", "inactive"],
  told: [],
  row,
});

/** A personal token can't be renewed, because it isn't a JWT. */
const PERSONAL: Outcome = { access: 200, renewal: 401, reasons: ["malformed"], told: [], row: "active" };
const PERSONAL_ENDED = (row: Outcome["row"], reason = "inactive"): Outcome => ({
  access: [401, "E_INVALID_TOKEN"],
  renewal: 401,
  reasons: [reason, "malformed"],
  told: [],
  row,
});

let ahead = 0;

function wait(ms: number): void {
  ahead += ms;
  setClock(() => Date.now() + ahead);
}

const held = ({ body }: Pick<Answer, "body">): Held => {
  const { data, refresh = data } = body as { readonly data: string; readonly refresh?: string };
  return { access: data, renewal: refresh };
};

const renew = async (tokens: ManyTokensApi, { renewal }: Held): Promise<Held> => held(await tokens.renew(renewal));

const CASES: readonly Case[] = [
  { state: "valid", single: OK, many: OK, personal: PERSONAL },
  {
    state: "expired",
    reach: async () => wait(11 * MINUTE),
    single: { ...OK, access: [401, "E_INVALID_TOKEN"], reasons: ["expired"] },
    many: { ...OK, access: [401, "E_INVALID_TOKEN"], reasons: ["expired"] },
    personal: PERSONAL,
  },
  {
    state: "expired, a day later",
    reach: async () => wait(24 * 60 * MINUTE),
    single: { ...OK, access: [401, "E_INVALID_TOKEN"], reasons: ["expired"] },
    many: { ...OK, access: [401, "E_INVALID_TOKEN"], reasons: ["expired"] },
    personal: PERSONAL_ENDED("active", "expired"),
  },
  {
    state: "rotated once, a moment ago",
    reach: async (tokens, token) => void (await renew(tokens, token)),
    // Repeats the previous renewal.
    single: { ...OK, access: [401, "E_INVALID_TOKEN"], reasons: ["inactive"], told: [] },
    // The access token belongs to the login until it expires.
    many: { ...OK, told: [] },
    personal: null,
  },
  {
    state: "rotated once, more than a minute ago",
    async reach(tokens, token) {
      await renew(tokens, token);
      wait(1.2 * MINUTE);
    },
    single: { ...ENDED("active") },
    many: { access: 200, renewal: 401, reasons: ["reused"], told: ["reused"], row: "revoked" },
    personal: null,
  },
  {
    state: "rotated twice",
    async reach(tokens, token) {
      const next = await renew(tokens, token);
      wait(1.2 * MINUTE);
      await renew(tokens, next);
    },
    single: { ...ENDED("active") },
    many: { access: 200, renewal: 401, reasons: ["reused"], told: ["reused"], row: "revoked" },
    personal: null,
  },
  {
    state: "rotated, and its successor presented",
    async reach(tokens, token) {
      const next = await renew(tokens, token);
      wait(1.2 * MINUTE);
      return next;
    },
    single: OK,
    many: OK,
    personal: null,
  },
  {
    state: "revoked by a logout",
    reach: async (tokens, { renewal }) => void (await tokens.api.post("/api/logout", { token: renewal })),
    single: ENDED("none"),
    many: ENDED("revoked"),
    personal: PERSONAL_ENDED("revoked"),
  },
  {
    state: "of a family that was ended",
    async reach(tokens, token) {
      const next = await renew(tokens, token);
      wait(1.2 * MINUTE);
      await renew(tokens, token);
      return next;
    },
    single: null,
    many: ENDED("revoked"),
    personal: null,
  },
  {
    state: "of a user who was deleted",
    reach: async ({ api }) => void (await (await api.User.find(ADA.id))!.delete()),
    single: ENDED("none"),
    many: ENDED("none"),
    personal: PERSONAL_ENDED("none"),
  },
  {
    state: "of a user with a new password",
    async reach({ api }) {
      const user = (await api.User.find(ADA.id))!;
      await user.setPassword("another password altogether");
      await user.save();
    },
    single: ENDED("none"),
    many: ENDED("none"),
    personal: PERSONAL_ENDED("none"),
  },
  {
    state: "of another version",
    driver: { version: 1 },
    later: { version: 2 },
    single: { ...ENDED("active"), reasons: ["version", "version"] },
    many: { ...ENDED("active"), reasons: ["version", "version"] },
    personal: PERSONAL_ENDED("active"),
  },
  {
    state: "signed with a former secret that still verifies",
    later: ({ next, former }: Keys) => ({ ...next, previousSecrets: former }),
    single: OK,
    many: OK,
    personal: PERSONAL,
  },
  {
    state: "signed with a secret that was replaced",
    later: ({ next }: Keys) => next,
    single: { ...ENDED("active"), reasons: ["signature", "signature"] },
    // Refresh tokens are signed with the application's key.
    many: { ...OK, access: [401, "E_INVALID_TOKEN"], reasons: ["signature"] },
    // It isn't signed.
    personal: PERSONAL,
  },
  {
    state: "without the ability",
    driver: { abilitiesOf: () => ["orders.read"] },
    path: "/api/write",
    single: { ...OK, access: [403, "E_INSUFFICIENT_SCOPE"] },
    many: { ...OK, access: [403, "E_INSUFFICIENT_SCOPE"] },
    personal: { ...PERSONAL, access: [403, "E_INSUFFICIENT_SCOPE"] },
  },
];

/** What Ada and Bob get when they log in. */
async function loginTokens({ api }: ManyTokensApi): Promise<[Held, Held]> {
  const login = async (username: string) => held(await api.post("/api/auth", { username, password: PASSWORD }));
  return [await login(ADA.email), await login(BOB.email)];
}

/** A personal token of Ada for a day, and one of Bob for a month. */
async function personalTokens({ api }: ManyTokensApi): Promise<[Held, Held]> {
  const { up } = await migrationOfStub("tokens/create_personal_tokens.ts.stub");
  await up(api.database.kysely);
  const service = api.application.container.make("apiDrivers").personal();
  const issue = async (id: number, days: number): Promise<Held> => {
    const user = (await api.User.find(id))!;
    const abilities = await service.abilitiesOf(user);
    const { token } = (await service.issue(user, { name: "script", abilities, days }))!;
    return { access: token, renewal: token };
  };
  return [await issue(ADA.id, 1), await issue(BOB.id, 30)];
}

async function rowOf(tokens: ManyTokensApi, strategy: Strategy): Promise<Outcome["row"]> {
  if (strategy === "personal") {
    const rows = await tokens.api.database.kysely.selectFrom("personal_tokens").selectAll().execute();
    const row = rows.find(({ user_id }) => Number(user_id) === ADA.id);
    return row === undefined ? "none" : row.revoked_at === null ? "active" : "revoked";
  }
  if (strategy === "single") return (await tokens.api.storedDigest(ADA.id)) === null ? "none" : "active";
  const row = (await tokens.rows()).find(({ user_id }) => Number(user_id) === ADA.id);
  return row === undefined ? "none" : row.revoked_at === null ? "active" : "revoked";
}

/** The events about tokens since the last reset, by the end of their names. */
async function toldBy({ api }: ManyTokensApi): Promise<readonly string[]> {
  await api.application.container.make("events").settled();
  const names = api.told.map(([name]) => name.replace("api.token_", ""));
  return names.filter((name) => name !== "refused" && !name.startsWith("auth."));
}

async function outcomeOf(one: Case, strategy: Strategy, keys: Keys, engine: TestEngine): Promise<Outcome> {
  ahead = 0;
  onTestFinished(() => setClock(null));
  const options = { engine, ...(strategy === "many" ? {} : { driver: STRATEGIES[strategy] }) };
  const driver = { ...STRATEGIES[strategy], ...keys.current, authenticates: true, ...one.driver };
  const before = await manyTokensApi({ ...options, driver });
  const [issued, other] = strategy === "personal" ? await personalTokens(before) : await loginTokens(before);
  const token = ((await one.reach?.(before, issued)) as Held | undefined) ?? issued;
  const later = typeof one.later === "function" ? (one.later as (keys: Keys) => object)(keys) : one.later;
  const tokens =
    later === undefined
      ? before
      : await manyTokensApi({ ...options, sharing: before.api, driver: { ...driver, ...later } });
  await toldBy(tokens);
  tokens.api.told.length = 0;
  const answer = await tokens.api.get(one.path ?? "/api/open", { token: token.access });
  const { code } = (answer.body ?? {}) as { readonly code?: string };
  const renewal = await tokens.renew(token.renewal);
  const told = await toldBy(tokens);
  if (later === undefined) {
    // Whatever happens to one user's token, another's is accepted, or renewed.
    const accepted = () => tokens.api.get("/api/open", { token: other.access });
    expect((await (strategy === "personal" ? accepted() : tokens.renew(other.renewal))).status).toBe(200);
  }
  return {
    access: code === undefined ? answer.status : [answer.status, code],
    renewal: renewal.status,
    reasons: (await tokens.api.toldOf("api.token_refused")).map(({ reason }) => String(reason)),
    told,
    row: await rowOf(tokens, strategy),
  };
}

await onEachDatabase("a token", (engine) => {
  describe.each(["HS512", "ES256"] as const)("signed by %s", (algorithm) => {
    // Personal tokens are not signed.
    const strategies =
      algorithm === "HS512" ? (["single", "many", "personal"] as const) : (["single", "many"] as const);
    describe.each(strategies)("of %s()", (strategy) => {
      test.each(CASES.filter((one) => one[strategy] !== null))("$state", async (one) => {
        const keys = KEYS[algorithm];
        const { reasons, ...expected } = one[strategy]!;
        expect(await outcomeOf(one, strategy, keys, engine)).toEqual({
          ...expected,
          reasons: reasons.map((reason) => (reason === "signature" ? keys.refusal : reason)),
        });
      });
    });
  });
});
