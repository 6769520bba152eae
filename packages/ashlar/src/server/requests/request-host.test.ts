import { afterEach, expect, test } from "vitest";
import { exchange } from "../../../test/support/raw-socket.ts";
import type { Application } from "../../boot/application/application.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { type HttpContext, Route } from "../../public/index.ts";

const open: Application[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((application) => application.shutdown()));
});

const hostOf = ({ request }: HttpContext) => [request.getHost(), request.getSubdomain()];

async function serve(trustedProxies: "loopback" | "" = ""): Promise<number> {
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { trustedProxies } } },
    routes: [
      Route.get("/host", hostOf),
      Route.get("/", () => "subdomain").domain("work"),
      Route.get("/account", ({ request }) => `${request.param("account")}`).domain("@account.shop.example"),
      Route.get("/", () => "anywhere"),
    ],
  });
  open.push(application);
  return (await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false })).port;
}

const bodyOf = (answer: string) => answer.slice(answer.indexOf("\n\n") + 2);

test.each(["work.shop.example", "work.shop.example.", "WORK.shop.example.:3000"])(
  "the host %s is the same as work.shop.example (RFC 1034 §3.1)",
  async (host) => {
    const port = await serve();
    expect(bodyOf(await exchange(port, "GET /host", `Host: ${host}`))).toBe('["shop.example","work"]');
    expect(bodyOf(await exchange(port, "GET /", `Host: ${host}`))).toBe("subdomain");
    expect(bodyOf(await exchange(port, "GET /account", `Host: ${host}`))).toBe("work");
    const target = `GET http://${host}/account?a=b`;
    expect(bodyOf(await exchange(port, target, "Host: other.example"))).toBe("work");
    expect(bodyOf(await exchange(port, "GET /host", `Host: ${host}`))).toBe('["shop.example","work"]');
  },
);

test.each([".", "..", "a..", "work.shop.example..", ".:80"])("the host %s is empty", async (host) => {
  const port = await serve();
  expect(bodyOf(await exchange(port, "GET /host", `Host: ${host}`))).toBe('["",null]');
  expect(bodyOf(await exchange(port, "GET /", `Host: ${host}`))).toBe("anywhere");
  const target = `GET http://${host}/host`;
  expect(bodyOf(await exchange(port, target, "Host: work.shop.example"))).toBe('["",null]');
});

test("a host with a colon but no port is the host without the colon (RFC 3986 §3.2.3)", async () => {
  const port = await serve();
  for (const host of ["work.shop.example:", "work.shop.example.:"]) {
    expect(bodyOf(await exchange(port, "GET /host", `Host: ${host}`))).toBe('["shop.example","work"]');
    expect(bodyOf(await exchange(port, "GET /", `Host: ${host}`))).toBe("subdomain");
    expect(bodyOf(await exchange(port, `GET http://${host}/account`, "Host: other.example"))).toBe("work");
    const forwarded = ["Host: inside", "X-Forwarded-For: 203.0.113.9", `X-Forwarded-Host: evil.example:, ${host}`];
    expect(bodyOf(await exchange(await serve("loopback"), "GET /account", ...forwarded))).toBe("work");
  }
  expect(bodyOf(await exchange(port, "GET /host", "Host: [::1]:"))).toBe('["[::1]",null]');
});

test("an address with a trailing dot is the address without it", async () => {
  const port = await serve();
  expect(bodyOf(await exchange(port, "GET /host", "Host: 127.0.0.1.:80"))).toBe('["127.0.0.1",null]');
});

test("a host that a trusted proxy forwards may have a trailing dot as well", async () => {
  const forwarded = [
    "Host: inside",
    "X-Forwarded-For: 203.0.113.9",
    "X-Forwarded-Host: evil.example, work.shop.example.",
  ];
  expect(bodyOf(await exchange(await serve("loopback"), "GET /account", ...forwarded))).toBe("work");
  expect(await exchange(await serve(), "GET /account", ...forwarded)).toMatch(/^HTTP\/1\.1 404 /);
});
