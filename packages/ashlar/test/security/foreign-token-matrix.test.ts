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
}

interface Case {
  readonly state: string;
  readonly path?: string;
  /** Claims of the token that are not the usual ones. */
  readonly claims?: object;
  readonly reach?: (foreign: Foreign) => unknown;
  readonly outcome: Outcome;
}

const OK: Outcome = { access: 200, reasons: [] };
const REFUSED = (reason: string): Outcome => ({ access: [401, "E_INVALID_TOKEN"], reasons: [reason] });

function travel(minutes: number): void {
  const then = now() + minutes * 60_000;
  setClock(() => then);
  onTestFinished(() => setClock(null));
}

const CASES: readonly Case[] = [
  { state: "valid", outcome: OK },
  { state: "expired", reach: () => travel(6), outcome: REFUSED("expired") },
  { state: "for another audience", claims: { aud: "https://other.example" }, outcome: REFUSED("audience") },
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
    // Its issuer decides when it ends.
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
    outcome: REFUSED("unknown_key"),
  },
  {
    state: "without the ability",
    claims: { scope: "orders.read" },
    path: "/api/write",
    outcome: { access: [403, "E_INSUFFICIENT_SCOPE"], reasons: [] },
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
  const answer = await api.get(one.path ?? "/api/theirs", { token });
  const { code } = (answer.body ?? {}) as { readonly code?: string };
  const reasons = (await api.toldOf("api.token_refused")).map(({ reason }) => String(reason));
  // It has no renewal here: to the application's own tokens, it is one by an unknown key.
  expect((await api.post("/api/reauth", { token })).status).toBe(401);
  return {
    access: code === undefined ? answer.status : [answer.status, code],
    reasons,
    stored: (await api.User.find(ADA.id))?.api_token ?? null,
  };
}

await onEachDatabase("a token of another issuer", (engine) => {
  test.each(CASES)("$state", async (one) => {
    expect(await outcomeOf(one, engine)).toEqual({ ...one.outcome, stored: null });
  });
});
