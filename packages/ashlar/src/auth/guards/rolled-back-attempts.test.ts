import { expect, test } from "vitest";
import { testAccounts } from "../../../test/support/account-application.ts";
import { Route } from "../../routing/index.ts";

test("a failed attempt is announced although its transaction is rolled back", async () => {
  const accounts = await testAccounts({
    throttle: {},
    routes: [
      Route.post("/enter", ({ auth, request }) =>
        accounts.database.transaction(async () => {
          if ((await auth.attempt(request.input("email"), request.input("password"))) === null) throw new Error("no");
        }),
      ),
    ],
  });
  const events = accounts.application.container.make("events");
  const told: string[] = [];
  events.on("auth.failed", ({ identifier }) => void told.push(`failed ${identifier}`));

  const visitor = accounts.visitor();
  const enter = () => visitor.post("/enter", { email: "ada@example.com", password: "not the password" });
  await enter();
  await events.settled();
  expect(told).toEqual(["failed ada@example.com"]);
});
