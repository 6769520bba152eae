import { expect, test } from "vitest";
import { ADA, PASSWORD, testWeb } from "../../../test/support/web-application.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { LoginStep, StepOutcome } from "../proofs/login-step.ts";

test.each([[undefined], [null], [true], [""], ["Passed"], [{}], [{ failed: true }], [{ failed: { rule: "terms" } }]])(
  "a step that returns %j logs no one in, and the error names it",
  async (outcome) => {
    const steps: LoginStep[] = [{ name: "terms", check: () => outcome as StepOutcome }];
    const errors: unknown[] = [];
    const login = Route.post("/try", async ({ auth }) => {
      await auth.attempt(ADA.email, PASSWORD).catch((error: unknown) => errors.push(error));
      return { user: await auth.user() };
    });
    const web = await testWeb({ guards: { steps }, routes: [login] });
    const { body, setCookies } = await web.browser().post("/try");
    expect([body, setCookies, await web.rows()]).toEqual([{ user: null }, [], []]);
    const remedy = 'Return "passed", "pending", { pending: "…" } or { failed: "…" }.';
    const message = `The login step "terms" returned no outcome. ${remedy}`;
    expect(errors).toMatchObject([{ code: "E_INVALID_LOGIN_STEP", status: 500, message }]);
  },
);

test.each([
  ["of any kind", new Error("The directory is down.")],
  ["of the framework", new AshlarError("E_OVERLOADED")],
  ["with the code of a failed proof", Object.assign(new Error("Stale."), { code: "E_STALE_PROOF" })],
  ["that is not an error", null],
])("an error %s in a confirmation's step is passed on, and does not count as a wrong password", async (_, error) => {
  const terms: LoginStep = {
    name: "terms",
    check({ purpose }) {
      if (purpose === "confirmation") throw error;
      return "passed";
    },
  };
  const confirm = Route.post("/try", async ({ auth }) => {
    const [outcome] = await Promise.allSettled([auth.webGuard.confirmPassword(PASSWORD)]);
    return { isPassedOn: outcome.status === "rejected" && outcome.reason === error };
  });
  const web = await testWeb({ guards: { steps: [terms] }, routes: [confirm] });
  const browser = await web.loggedIn();
  expect((await browser.post("/try")).body).toEqual({ isPassedOn: true });
  expect(await web.toldOf("auth.failed")).toEqual([]);
});
