import { describe, expect, test } from "vitest";
import { type ContextOptions, makeContext } from "../../../test/support/http-context.ts";
import { ConfigurationError } from "../../support/index.ts";
import { IpMiddleware } from "./ip-middleware.ts";

/** The values of `ip()` and `clientAddress` inside the middleware. */
function addresses(middleware: IpMiddleware, options: ContextOptions) {
  const context = makeContext(options);
  return middleware.handle(context, () => ({ ip: context.request.ip(), throttle: context.request.clientAddress }));
}

describe("IpMiddleware", () => {
  test("checks its default headers in order", () => {
    expect(IpMiddleware.headers).toEqual([
      "HTTP_CLIENT_IP",
      "HTTP_X_FORWARDED_FOR",
      "HTTP_X_FORWARDED",
      "HTTP_X_CLUSTER_CLIENT_IP",
      "HTTP_FORWARDED_FOR",
      "HTTP_FORWARDED",
      "REMOTE_ADDR",
    ]);
    const headers: [string, string][] = [
      ["client-ip", "1.1.1.1"],
      ["x-forwarded-for", "1.1.1.2"],
      ["x-forwarded", "1.1.1.3"],
      ["x-cluster-client-ip", "1.1.1.4"],
      ["forwarded-for", "1.1.1.5"],
      ["forwarded", "for=1.1.1.6"],
    ];
    const found = headers.map((_, index) =>
      addresses(new IpMiddleware(), { headers: headers.slice(index), ip: "1.1.1.7" }),
    );
    expect(found).toEqual([1, 2, 3, 4, 5, 6].map((last) => ({ ip: `1.1.1.${last}`, throttle: "1.1.1.7" })));
    expect(addresses(new IpMiddleware(), { ip: "1.1.1.7" })).toEqual({ ip: "1.1.1.7", throttle: "1.1.1.7" });
  });

  test("S44 throttling uses the socket's address, whatever the headers contain, unless proxies are trusted", () => {
    const headers = { "x-forwarded-for": "8.8.8.8" };
    expect(addresses(new IpMiddleware(), { headers, ip: "10.0.0.1" })).toEqual({ ip: "8.8.8.8", throttle: "10.0.0.1" });
    const behindProxy = (ip: string) => {
      return addresses(new IpMiddleware(), { headers, ip, trustedProxies: ["10.0.0.0/8", "::1"] });
    };
    expect(behindProxy("10.0.0.1")).toEqual({ ip: "8.8.8.8", throttle: "8.8.8.8" });
    expect(behindProxy("::ffff:10.0.0.1")).toEqual({ ip: "8.8.8.8", throttle: "8.8.8.8" });
    expect(behindProxy("9.9.9.9")).toEqual({ ip: "9.9.9.9", throttle: "9.9.9.9" });
  });

  test("a subclass changes the headers and their order", () => {
    class Own extends IpMiddleware {
      static override headers: readonly string[] = ["HTTP_X_REAL_IP", "HTTP_CLIENT_IP"];
    }
    const headers = { "x-real-ip": "8.8.8.8", "client-ip": "9.9.9.9", "x-forwarded-for": "1.1.1.1" };
    expect(addresses(new Own(), { headers, ip: "10.0.0.1" })).toEqual({ ip: "8.8.8.8", throttle: "10.0.0.1" });
    expect(addresses(new Own(), { headers: { "x-forwarded-for": "1.1.1.1" }, ip: "10.0.0.1" })).toEqual({
      ip: "10.0.0.1",
      throttle: "10.0.0.1",
    });
  });

  test("a subclass does not change the class it extends", () => {
    expect(addresses(new IpMiddleware(), { headers: { "x-forwarded-for": "8.8.8.8" }, ip: "9.9.9.9" })).toEqual({
      ip: "8.8.8.8",
      throttle: "9.9.9.9",
    });
  });

  test("a header that is set later does not change the address", () => {
    const context = makeContext({ headers: { "x-forwarded-for": "8.8.8.8" }, ip: "10.0.0.1" });
    new IpMiddleware().handle(context, () => null);
    context.request.header("X-Forwarded-For", "6.6.6.6");
    expect(context.request.ip()).toBe("8.8.8.8");
  });

  test("returns the result of the rest of the pipeline", () => {
    expect(new IpMiddleware().handle(makeContext(), () => "answer")).toBe("answer");
  });

  test("S54 a subclass that lists trusted proxies itself fails startup, and the error names the setting to use", () => {
    class Former extends IpMiddleware {
      static trustedProxies: readonly string[] = [];
    }
    expect(() => new Former()).toThrow(
      new ConfigurationError(
        "Former.trustedProxies",
        "it is no longer used: a single setting now says which proxies are trusted, for everything.",
        "Set APP.trustedProxies in config/app.ts, or TRUSTED_PROXIES in the environment.",
      ),
    );
  });

  test.each(["X-Forwarded-For", "x_real_ip", "HTTP_", "HTTP_a", ""])("a header named %j fails startup", (header) => {
    class Wrong extends IpMiddleware {
      static override headers: readonly string[] = [header];
    }
    expect(() => new Wrong()).toThrow(ConfigurationError);
  });
});
