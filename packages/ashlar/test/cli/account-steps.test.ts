import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type TestClient, travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { edit } from "../support/generated-application.ts";
import { sqlite } from "../support/services.ts";

const CODE = "314159";

/** Adds a second factor like an application would: a step, its page, and the route that verifies the code. */
async function addCode(root: string): Promise<void> {
  await writeFile(
    join(root, "app/code.ts"),
    `import { type HttpContext, Route, type RouteEntry } from "ashlar";
import type { LoginStep } from "ashlar/auth";
import { Csrf } from "ashlar/session";

export const code: LoginStep = { name: "code", page: "code", check: () => "pending" };

export const CODE_ROUTES: RouteEntry[] = [
  Route.get("/code", (context: HttpContext) => {
    const token = Csrf.token(context);
    return context.response.html(\`<form method="post" action="/code"><input type="hidden" name="__token" value="\${token}"><input name="code"></form>\`);
  }).name("code"),
  Route.post("/code", async ({ auth, request }: HttpContext) => {
    const login = await auth.pendingLogin();
    if (login === null) return auth.redirectToRoute("login");
    const { status } = await login.pass("code", () => request.bodyInput("code") === "${CODE}");
    return status === "complete" ? auth.redirectToIntended("home") : auth.redirectToStep();
  }),
];
`,
  );
  await edit(
    root,
    "config/auth.ts",
    ["// steps: [terms],", "steps: [code],"],
    ["import { User }", 'import { code } from "../app/code.ts";\nimport { User }'],
  );
  await edit(
    root,
    "routes/web.ts",
    ["...Auth.routes(AuthControllers),", "...Auth.routes(AuthControllers),\n  ...CODE_ROUTES,"],
    ["import { Route", 'import { CODE_ROUTES } from "../app/code.ts";\nimport { Route'],
  );
}

let shop: AccountShop;
beforeAll(async () => {
  shop = await AccountShop.open(sqlite, { change: addCode });
});
afterAll(() => shop.close());
beforeEach(() => shop.reset());
afterEach(travelBack);

async function logIn(password: string, email = EMAIL): Promise<TestClient> {
  const client = shop.visitor();
  (await shop.send(client, "/login", { email, password })).assertRedirect("/code");
  (await shop.send(client, "/code", { code: CODE })).assertRedirect("/home");
  return client;
}

test("a user with a second factor changes the password and the address after entering the code", async () => {
  const client = await logIn(PASSWORD);
  const form = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  (await shop.send(client, "/account/password", form)).assertRedirect("/code");
  (await shop.send(client, "/code", { code: CODE })).assertRedirect("/account/password");
  (await shop.send(client, "/account/password", form)).assertRedirect("/home");
  travel(10);
  const again = await logIn(NEW_PASSWORD);
  const fields = { email: "ada@new.example", password: NEW_PASSWORD };
  (await shop.send(again, "/account/email", fields)).assertRedirect("/code");
  (await shop.send(again, "/code", { code: "000000" })).assertRedirect("/code");
  (await shop.send(again, "/code", { code: CODE })).assertRedirect("/account/email");
  const link = await shop.changeLink(again, "ada@new.example", NEW_PASSWORD);
  await shop.verify(link, again);
  expect((await shop.user())?.email).toBe("ada@new.example");
  await logIn(NEW_PASSWORD, "ada@new.example");
});
