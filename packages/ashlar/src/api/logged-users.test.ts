import { expect, test } from "vitest";
import { testApi } from "../../test/support/api-application.ts";
import { testWeb } from "../../test/support/web-application.ts";
import { createLogger } from "../boot/index.ts";

type Line = Readonly<Record<string, unknown>>;

const ENVIRONMENT = { APP_ENV: "development" };

function loggingInto(lines: Line[]) {
  const settings = { name: "Shop", environment: "test", log: { level: "info" } } as const;
  return createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) });
}

const usersOf = (lines: readonly Line[]) =>
  lines.filter(({ msg }) => msg === "request").map(({ path, userId }) => [path, userId]);

test("the request line has the user of a token, whether it was loaded or not, without asking the database", async () => {
  const lines: Line[] = [];
  const api = await testApi({ environment: ENVIRONMENT, logger: loggingInto(lines), driver: { authenticates: false } });
  const token = await api.token();
  lines.length = 0;
  api.forgetQueries();
  await api.get("/api/open", { token });
  expect(api.queries).toEqual([]);
  await api.get("/api/me", { token });
  await api.get("/api/open", { token: `${token.slice(0, -2)}xx` });
  await api.get("/api/open");
  expect(usersOf(lines)).toEqual([
    ["/api/open", "1"],
    ["/api/me", "1"],
    ["/api/open", undefined],
    ["/api/open", undefined],
  ]);
});

test("a request with a token that is not checked in the database creates no promise", async () => {
  const api = await testApi({ environment: ENVIRONMENT, logger: loggingInto([]), driver: { authenticates: false } });
  const headers = { authorization: `Bearer ${await api.token()}`, "x-request-id": "abc" };
  const response = api.application.fetch(new Request("http://localhost/api/open", { headers }));
  expect(response).toBeInstanceOf(Response);
});

test("the request line has the user of a login", async () => {
  const lines: Line[] = [];
  const web = await testWeb({ environment: ENVIRONMENT, logger: loggingInto(lines) });
  const browser = await web.loggedIn({ id: 2 });
  lines.length = 0;
  await browser.get("/me");
  await browser.get("/plain");
  await web.browser().get("/me");
  expect(usersOf(lines)).toEqual([
    ["/me", "2"],
    ["/plain", undefined],
    ["/me", undefined],
  ]);
});
