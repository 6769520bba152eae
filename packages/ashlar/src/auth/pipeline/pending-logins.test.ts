import { expect, test } from "vitest";
import { CREDENTIALS, shopWith, target, terms } from "../../../test/support/login-steps.ts";
import { ADA, PASSWORD, testWeb } from "../../../test/support/web-application.ts";
import { Route } from "../../routing/index.ts";

test("S52 a pending login is forgotten once access has ended, so guests are not led to its step", async () => {
  const accounts = await shopWith([terms]);
  const visitor = accounts.visitor();
  await visitor.post("/login", CREDENTIALS);
  expect(target(await visitor.get("/logins"))).toEqual([302, "/terms"]);
  await (await accounts.user()).endAccess();
  expect(target(await visitor.post("/code"))).toEqual([302, "/login"]);
  expect(target(await visitor.get("/logins"))).toEqual([302, "/login"]);
});

test("S52 a pending login whose row cannot be deleted once its user has changed is an error", async () => {
  const accounts = await shopWith([terms]);
  const visitor = accounts.visitor();
  await visitor.post("/login", CREDENTIALS);
  await accounts.User.where("id", ADA.id).update({ access_epoch: "another one" } as object);
  const store = accounts.application.container.make("logins").of("web");
  store.end = () => Promise.reject(new Error("The database is down."));
  expect((await visitor.post("/code")).status).toBe(500);
});

test("a refused login leads to the login page without a session too, where nothing can say why", async () => {
  const login = Route.post("/try", async ({ auth }) => {
    await auth.attempt(ADA.email, PASSWORD);
    return auth.redirectToStep();
  });
  const steps = [{ name: "terms", check: () => ({ failed: "Your account is blocked." }) }];
  const web = await testWeb({ guards: { steps }, routes: [login] });
  expect(target(await web.browser().post("/try"))).toEqual([302, "/login"]);
});
