import { describe, expect, test } from "vitest";
import { type ContextOptions, makeContext } from "../../test/support/http-context.ts";
import { ConfigurationError } from "../support/index.ts";
import { IpMiddleware } from "./ip-middleware.ts";

/** What `ip()` and `throttleAddress` say inside the middleware. */
function addresses(middleware: IpMiddleware, options: ContextOptions) {
  const context = makeContext(options);
  return middleware.handle(context, () => ({ ip: context.request.ip(), throttle: context.request.throttleAddress }));
}

class BehindProxy extends IpMiddleware {
  static override trustedProxies: readonly string[] = ["10.0.0.0/8", "::1"];
}

describe("IpMiddleware", () => {
  test("looks at the source's headers in the source's order", () => {
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

  test("S44 throttling uses the socket's address, whatever the headers say, unless proxies are trusted", () => {
    const headers = { "x-forwarded-for": "8.8.8.8" };
    expect(addresses(new IpMiddleware(), { headers, ip: "10.0.0.1" })).toEqual({ ip: "8.8.8.8", throttle: "10.0.0.1" });
    expect(addresses(new BehindProxy(), { headers, ip: "10.0.0.1" })).toEqual({ ip: "8.8.8.8", throttle: "8.8.8.8" });
    expect(addresses(new BehindProxy(), { headers, ip: "::ffff:10.0.0.1" })).toEqual({
      ip: "8.8.8.8",
      throttle: "8.8.8.8",
    });
    expect(addresses(new BehindProxy(), { headers, ip: "9.9.9.9" })).toEqual({ ip: "9.9.9.9", throttle: "9.9.9.9" });
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
    expect(IpMiddleware.trustedProxies).toEqual([]);
    expect(addresses(new IpMiddleware(), { headers: { "x-forwarded-for": "8.8.8.8" }, ip: "9.9.9.9" })).toEqual({
      ip: "8.8.8.8",
      throttle: "9.9.9.9",
    });
  });

  test("what the request says of itself later changes nothing", () => {
    const context = makeContext({ headers: { "x-forwarded-for": "8.8.8.8" }, ip: "10.0.0.1" });
    new IpMiddleware().handle(context, () => null);
    context.request.header("X-Forwarded-For", "6.6.6.6");
    expect(context.request.ip()).toBe("8.8.8.8");
  });

  test("gives what the rest of the pipeline gives", () => {
    expect(new IpMiddleware().handle(makeContext(), () => "answer")).toBe("answer");
  });

  test("a proxy that is no address or range ends the boot, with the class and the remedy", () => {
    class Wrong extends IpMiddleware {
      static override trustedProxies: readonly string[] = ["10.0.0.0/33"];
    }
    expect(() => new Wrong()).toThrow(
      new ConfigurationError(
        "Wrong.trustedProxies",
        '"10.0.0.0/33" is neither an address nor a range.',
        'Write "10.0.0.1" or "10.0.0.0/8".',
      ),
    );
  });

  test.each(["X-Forwarded-For", "x_real_ip", "HTTP_", "HTTP_a", ""])("a header named %j ends the boot", (header) => {
    class Wrong extends IpMiddleware {
      static override headers: readonly string[] = [header];
    }
    expect(() => new Wrong()).toThrow(ConfigurationError);
  });
});
