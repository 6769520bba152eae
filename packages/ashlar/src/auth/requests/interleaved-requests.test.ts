import { expect, test } from "vitest";
import { kernelWith } from "../../../test/support/application-parts.ts";
import { PeopleProvider, Person } from "../../../test/support/people.ts";
import { createApplication } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";
import { AuthProvider } from "../auth-provider.ts";

const ADA = { id: 1, email: "ada@example.com" };
const BOB = { id: 2, email: "bob@example.com" };

test("S24 interleaved requests each see their own user and guard", async () => {
  const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  await Person.populate("correct horse battery");
  const route = Route.get("/", async ({ auth, request }) => {
    await pause();
    if (request.input("switch") === "1") auth.guard("header");
    await pause();
    const user = await auth.user();
    await pause();
    return { result: [auth.guardName, request.user(), user, await auth.user()] };
  });
  const application = await createApplication({
    routes: [route],
    kernel: kernelWith({ web: [] }),
    providers: [AuthProvider, PeopleProvider],
    config: { auth: { GUARDS: { default: "web", web: { driver: "cookie", model: Person } } } },
    environment: { APP_ENV: "test" },
  });
  const one = async (index: number): Promise<void> => {
    const switches = index % 2 === 0;
    const [cookie, header] = index % 3 === 0 ? ["1", "2"] : ["2", "1"];
    const url = `http://localhost/?switch=${switches ? 1 : 0}`;
    const headers = { cookie: `person=${cookie}`, "x-person": header };
    const response = await application.fetch(new Request(url, { headers }));
    const user = (switches ? header : cookie) === "1" ? ADA : BOB;
    expect(await response.json()).toEqual({ result: [switches ? "header" : "web", user, user, user] });
  };
  await Promise.all(Array.from({ length: 3000 }, (_, index) => one(index)));
});
