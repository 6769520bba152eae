import { expect, onTestFinished, test } from "vitest";
import { AbilityMiddleware, JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { Route } from "../../src/routing/index.ts";
import { now, setClock } from "../../src/support/index.ts";
import { ADA, type TestApi, testApi } from "../support/api-application.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";
import { issuerKey, startIssuer, type TokenIssuer } from "../support/token-issuer.ts";

const [FIRST, SECOND] = [issuerKey("first"), issuerKey("second")];

/** An application that accepts the tokens of an issuer, and one of them. */
interface Foreign {
  readonly api: TestApi;
  readonly issuer: TokenIssuer;
  readonly token: string;
}

/** What an application does with a token of another issuer in one state. */
interface Outcome {
  readonly access: number | readonly [status: number, code: string];
  /** Why it was refused. */
  readonly reasons: readonly string[];
  /** The response of the application's own logout, which can't end the token. */
  readonly logout: 204 | readonly [status: number, code: string, detail: string];
}

interface Case {
  readonly state: string;
  readonly path?: string;
  /** Claims that differ from the usual ones. */
  readonly claims?: object;
  readonly reach?: (foreign: Foreign) => unknown;
  readonly outcome: Outcome;
}

const THEIRS: Outcome["logout"] = [
  401,
  "E_INVALID_TOKEN",
  "The token is one of the driver idp. It can't be revoked here, only by its issuer.",
];
const OK: Outcome = { access: 200, reasons: [], logout: THEIRS };
const REFUSED = (reason: string, logout: Outcome["logout"] = THEIRS): Outcome => ({
  access: [401, "E_INVALID_TOKEN"],
  reasons: [reason],
  logout,
});

function travel(minutes: number): void {
  const then = now() + minutes * 60_000;
  setClock(() => then);
  onTestFinished(() => setClock(null));
}

const CASES: readonly Case[] = [
  { state: "valid", outcome: OK },
  { state: "expired", reach: () => travel(6), outcome: REFUSED("expired") },
  { state: "for another audience", claims: { aud: "https://other.example" }, outcome: REFUSED("audience", 204) },
  {
    state: "of a user whom the application doesn't know",
    claims: { sub: "idp|eve" },
    outcome: REFUSED("inactive"),
  },
  {
    state: "of a user who was deleted",
    reach: async ({ api }) => (await api.User.find(ADA.id))!.delete(),
    outcome: REFUSED("inactive"),
  },
  {
    // Its issuer decides when it expires.
    state: "of a user with a new password",
    async reach({ api }) {
      const user = (await api.User.find(ADA.id))!;
      await user.setPassword("another password altogether");
      await user.save();
    },
    outcome: OK,
  },
  {
    state: "signed with a former key that is still published",
    async reach({ issuer }) {
      issuer.keys = [SECOND, FIRST];
      travel(2);
    },
    outcome: OK,
  },
  {
    state: "signed with a key that is not published",
    async reach({ issuer }) {
      issuer.keys = [SECOND];
    },
    outcome: REFUSED("unknown_key", 204),
  },
  {
    state: "without the ability",
    claims: { scope: "orders.read" },
    path: "/api/write",
    outcome: { ...OK, access: [403, "E_INSUFFICIENT_SCOPE"] },
  },
  { state: "with the ability", path: "/api/write", outcome: OK },
];

async function outcomeOf(one: Case, engine: TestEngine): Promise<Outcome & { readonly stored: unknown }> {
  const issuer = await startIssuer([FIRST]);
  let api: TestApi | null = null;
  const idp = {
    issuer: issuer.issuer,
    audience: "https://api.shop.example",
    jwks: issuer.url,
    user: ({ sub }: { readonly sub: string }) => (sub === "idp|ada" ? api!.User.find(ADA.id) : null),
  };
  api = await testApi({
    engine,
    drivers: { idp },
    guards: { default: "jwt" },
    stack: [],
    middleware: { jwt: [JWTAuthenticationMiddleware], ability: [AbilityMiddleware] },
    routes: [
      Route.get("/theirs", ({ request }) => request.user()).middleware("jwt:idp"),
      Route.get("/write", () => ({})).middleware("jwt:idp", "ability:orders.write"),
    ],
  });
  const token = await issuer.token(one.claims);
  await one.reach?.({ api, issuer, token });
  const access = async (): Promise<Outcome["access"]> => {
    const { status, body } = await api.get(one.path ?? "/api/theirs", { token });
    const { code } = (body ?? {}) as { readonly code?: string };
    return code === undefined ? status : [status, code];
  };
  const before = await access();
  const reasons = (await api.toldOf("api.token_refused")).map(({ reason }) => String(reason));
  const { status, body } = await api.post("/api/logout", {}, { token });
  const { code, detail } = (body ?? {}) as { readonly code: string; readonly detail: string };
  expect(await access()).toEqual(before);
  // It can't be renewed here: to the application, it is signed with an unknown key.
  expect((await api.post("/api/reauth", { token })).status).toBe(401);
  return {
    access: before,
    reasons,
    logout: status === 204 ? status : [status, code, detail],
    stored: (await api.User.find(ADA.id))?.api_token ?? null,
  };
}

await onEachDatabase("a token of another issuer", (engine) => {
  test.each(CASES)("$state", async (one) => {
    expect(await outcomeOf(one, engine)).toEqual({ ...one.outcome, stored: null });
  });
});
