import { afterEach, describe, expect, test } from "vitest";
import { ADA, PASSWORD, type TestAccounts, testAccounts } from "../../../test/support/account-application.ts";
import { declareFeature, type Feature, Provider } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { setClock } from "../../support/index.ts";
import { asAuthenticatable } from "../users/authenticatable.ts";
import type { LoginStep } from "./login-step.ts";
import type { FeatureProof } from "./proof.ts";

const JSON_ANSWER = { accept: "application/json" };
const CREDENTIALS = { email: ADA.email, password: PASSWORD };

afterEach(() => setClock(null));

function factorsBy(proofs: Readonly<Record<string, FeatureProof>>) {
  return class FactorsProvider extends Provider {
    static override readonly feature: Feature = declareFeature({
      name: "factors",
      proofs: Object.fromEntries(Object.entries(proofs).map(([name, proof]) => [name, () => proof])),
    });
  };
}

/** A factor that is passed in two ways, one of which needs a challenge. */
const FACTOR: FeatureProof = {
  amr: ["otp"],
  has: () => true,
  step: {
    page: "factor",
    flows: (user, { auth }) => [
      { id: "totp", field: "code" },
      {
        id: "passkey",
        field: "assertion",
        url: "/passkey",
        challenge: `${auth.route("factor")}/${asAuthenticatable(user).authId()}`,
      },
    ],
    check: async ({ context, prove }) =>
      (await prove(() => context.request.bodyInput("code") === "42")) ? "passed" : "pending",
  },
};

const FLOWS = [
  { id: "totp", field: "code", url: "/factor" },
  { id: "passkey", field: "assertion", url: "/passkey", challenge: "/factor/1" },
];

const withFactor = (): Promise<TestAccounts> =>
  testAccounts({
    providers: [factorsBy({ factor: FACTOR })],
    routes: [
      Route.get("/factor", () => "code").name("factor"),
      Route.post("/factor", async ({ auth }: HttpContext) => {
        const login = await auth.pendingLogin();
        const flows = await login?.flows();
        const result = await login?.pass("factor", () => false);
        return { flows, passed: result?.status === "pending" && result.flows };
      }),
      Route.get("/danger", () => "danger").middleware("password.confirm:30"),
      Route.get("/own", () => "own").middleware("auth"),
    ],
  });

describe("a JSON client learns from flows", () => {
  test("how a step is passed: in the response to a login, and on the step's page", async () => {
    const accounts = await withFactor();
    const visitor = accounts.visitor();
    const { body } = await visitor.post("/login", CREDENTIALS, JSON_ANSWER);
    expect(body).toEqual({ data: { status: "pending", step: "factor", flows: FLOWS } });
    expect((await visitor.post("/factor", {})).body).toEqual({ flows: FLOWS, passed: FLOWS });
  });

  test("how a guest becomes a user, and how a login that waits continues", async () => {
    const accounts = await withFactor();
    const visitor = accounts.visitor();
    const pages = [
      { id: "login", url: "/login" },
      { id: "register", url: "/register" },
    ];
    expect(await visitor.get("/own", JSON_ANSWER)).toMatchObject({
      status: 401,
      body: { code: "E_UNAUTHENTICATED", flows: pages },
    });
    await visitor.post("/login", CREDENTIALS, JSON_ANSWER);
    const waiting = FLOWS.map((flow) => ({ ...flow, isPending: true }));
    expect((await visitor.get("/own", JSON_ANSWER)).body).toMatchObject({ flows: [...waiting, ...pages] });
  });

  test("how to confirm: with the field and the page of each proof", async () => {
    const badge: FeatureProof = {
      amr: ["sc"],
      startsLogins: true,
      page: "badge",
      has: () => true,
      flows: () => [{ id: "badge", field: "number" }],
    };
    const card: FeatureProof = { amr: ["sc"], startsLogins: true, page: "card", has: () => true };
    const accounts = await testAccounts({
      providers: [factorsBy({ badge, card })],
      routes: [
        Route.get("/badge", () => "badge").name("badge"),
        Route.get("/card", () => "card").name("card"),
        Route.get("/danger", () => "danger").middleware("password.confirm:30"),
      ],
    });
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const now = Date.now();
    setClock(() => now + 31 * 60_000);
    expect(await visitor.get("/danger", JSON_ANSWER)).toMatchObject({
      status: 403,
      body: {
        code: "E_PASSWORD_NOT_CONFIRMED",
        methods: ["password", "badge", "card"],
        flows: [
          { id: "password", field: "password", url: "/confirm_password" },
          { id: "badge", field: "number", url: "/badge" },
          { id: "card", url: "/card" },
        ],
      },
    });
  });
});

test("a step without flows has one, with its name", async () => {
  const step: LoginStep = { name: "terms", page: "terms", check: () => "pending" };
  const accounts = await testAccounts({
    guards: { steps: [step] },
    routes: [Route.get("/terms", () => "terms").name("terms")],
  });
  const { body } = await accounts.visitor().post("/login", CREDENTIALS, JSON_ANSWER);
  expect(body).toEqual({ data: { status: "pending", step: "terms", flows: [{ id: "terms", url: "/terms" }] } });
});

test.each([[null], [[{ field: "code" }]], [[{ id: "" }]], ["totp"]])(
  "flows that return %j are refused",
  async (flows) => {
    const step: LoginStep = { name: "code", check: () => "pending", flows: () => flows as never };
    const accounts = await testAccounts({ guards: { steps: [step] } });
    const { status, body } = await accounts.visitor().post("/login", CREDENTIALS, JSON_ANSWER);
    expect([status, body]).toMatchObject([500, { code: "E_INVALID_LOGIN_STEP" }]);
  },
);

test("flows that aren't a function fail startup", async () => {
  const step = { name: "code", check: () => "pending", flows: [{ id: "totp" }] } as object as LoginStep;
  await expect(testAccounts({ guards: { steps: [step] } })).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
  const proof = { ...FACTOR, flows: [{ id: "totp" }] } as object as FeatureProof;
  await expect(testAccounts({ providers: [factorsBy({ factor: proof })] })).rejects.toMatchObject({
    code: "E_INVALID_CONFIGURATION",
    message: expect.stringContaining('the proof "factor" has no function flows.'),
  });
});
