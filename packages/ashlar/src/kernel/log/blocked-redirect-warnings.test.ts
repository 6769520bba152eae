import { expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { createApplication, createLogger } from "../../boot/index.ts";
import { type RouteInfo, SecurityHeadersMiddleware } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { generateSecret } from "../../security/index.ts";
import { HttpKernel } from "../pipeline/http-kernel.ts";
import { BlockedRedirectWarnings } from "./blocked-redirect-warnings.ts";

const PAY = { pattern: "/pay", methods: ["POST"] };

/** The log lines about a response that redirects to another site. */
function logged(
  policy: string | null,
  target: string,
  method = "POST",
  route: Partial<RouteInfo> | null = PAY,
): string[] {
  const lines: string[] = [];
  const redirectWarnings = new BlockedRedirectWarnings({ warn: (line: unknown) => void lines.push(String(line)) });
  const context = makeContext({ method, ...(route !== null && { route }) });
  Object.defineProperty(context, "services", { value: { ...context.services, redirectWarnings } });
  for (let n = 0; n < 2; n++) {
    if (policy !== null) context.response.header("Content-Security-Policy", policy);
    context.response.away(target);
  }
  return lines;
}

test("a redirect after a form that the policy's form-action blocks is logged once for each route", () => {
  expect(
    logged("default-src 'self'; form-action 'self' https://pay.example", "https://login.example/x?code=secret"),
  ).toEqual([
    "POST /pay redirects to https://login.example. If a form was sent, browsers block that, because form-action of the " +
      "Content-Security-Policy is 'self' https://pay.example. Add the origin to it, with those that it redirects to in " +
      "turn, or remove form-action.",
  ]);
});

test("only responses to forms count", () => {
  expect(logged("form-action 'self'", "https://pay.example", "GET")).toEqual([]);
  expect(logged("default-src 'self'", "https://pay.example")).toEqual([]);
  expect(logged(null, "https://pay.example")).toEqual([]);
});

test.each<[string, Partial<RouteInfo> | null]>([
  ["PUT|POST /pay", { ...PAY, methods: ["PUT", "POST"] }],
  ["A request", null],
])("the line begins with %s", (label, route) => {
  const lines = logged("form-action 'self'", "https://pay.example", "POST", route);
  expect(lines).toEqual([expect.stringMatching(/ redirects to https:\/\/pay\.example\. /)]);
  expect(lines[0]!.split(" redirects ")[0]).toBe(label);
});

test("the directive's name may be in capitals", () => {
  expect(logged("Form-Action 'self'", "https://pay.example")).toHaveLength(1);
  expect(logged("FORM-ACTION https://pay.example", "https://pay.example")).toEqual([]);
});

test.each<[string, string, number]>([
  ["'self'", "https://pay.example", 1],
  ["'none'", "https://pay.example", 1],
  ["", "https://pay.example", 1],
  ["*", "https://pay.example", 0],
  ["https:", "https://pay.example", 0],
  ["https:", "http://pay.example", 1],
  ["http:", "https://pay.example", 0],
  ["'self' https://pay.example", "https://pay.example/checkout", 0],
  ["https://pay.example/", "https://PAY.example?id=1", 0],
  ["https://pay.example/other", "https://pay.example/checkout", 0],
  ["pay.example", "https://pay.example/checkout", 0],
  ["https://pay.example", "http://pay.example", 1],
  ["https://pay.example", "https://pay.example.evil.example/", 1],
  ["https://pay.example", "https://pay.example:8443/", 1],
  ["https://pay.example:8443", "https://pay.example:8443/", 0],
  ["https://pay.example:443", "https://pay.example/", 0],
  ["https://pay.example:*", "https://pay.example:8443/", 0],
  ["HTTPS://pay.example", "https://pay.example/", 0],
  ["HTTP:", "https://pay.example/", 0],
  ["https://PAY.example", "https://pay.example/", 0],
  ["https://*.PAY.example", "https://eu.pay.example/", 0],
  ["https://*.pay.example", "https://eu.pay.example/", 0],
  ["https://*.pay.example", "https://pay.example/", 1],
])("with form-action %s, a redirect to %s is logged %i times", (sources, target, count) => {
  expect(logged(`form-action ${sources}`, target)).toHaveLength(count);
});

test.each([
  ["development", 1],
  ["test", 1],
  ["production", 0],
])("in %s, an application logs %i of them for a page's own policy", async (APP_ENV, count) => {
  class Headers extends SecurityHeadersMiddleware {
    static override policy = { ...SecurityHeadersMiddleware.policy, "form-action": "'self'" };
  }
  class Kernel extends HttpKernel {
    override routeMiddleware: HttpKernel["routeMiddleware"] = { web: [Headers] };
  }
  const lines: string[] = [];
  const application = await createApplication({
    kernel: Kernel,
    routes: [Route.post("/pay", ({ response }) => response.away("https://pay.example"))],
    environment: { APP_ENV, APP_KEY: generateSecret(), APP_URL: "https://shop.example" },
    logger: createLogger(
      { name: "shop", environment: "production", log: { level: "warn", requests: false } },
      { write: (line: string) => void lines.push(line) },
    ),
  });
  const { status } = await application.fetch(new Request("https://shop.example/pay", { method: "POST" }));
  await application.shutdown();
  expect([status, lines.filter((line) => line.includes("POST /pay redirects to https://pay.example.")).length]).toEqual(
    [302, count],
  );
});
