import { describe, expect, test } from "vitest";
import { type HttpContext, IpMiddleware } from "../../src/public/index.ts";
import { type AskedRequest, ask, askOverSocket } from "../support/asking-application.ts";

const ip = ({ request }: HttpContext) => request.ip();

/** The result of `ip()` for a request with these headers, by default from a private address. */
function resolved(
  headers: AskedRequest["headers"] = {},
  peer = "192.168.1.1",
  middleware: typeof IpMiddleware = IpMiddleware,
): Promise<unknown> {
  return ask(ip, { headers: headers ?? {}, ip: peer, httpMiddleware: [middleware] });
}

/** The headers in the order they are examined, each with its own address. */
const IN_ORDER: readonly [name: string, value: string, address: string][] = [
  ["Client-Ip", "93.16.100.1", "93.16.100.1"],
  ["X-Forwarded-For", "93.16.100.2", "93.16.100.2"],
  ["X-Forwarded", "93.16.100.3", "93.16.100.3"],
  ["X-Cluster-Client-Ip", "93.16.100.4", "93.16.100.4"],
  ["Forwarded-For", "93.16.100.5", "93.16.100.5"],
  ["Forwarded", "for=93.16.100.6", "93.16.100.6"],
];

describe("Client IP resolution", () => {
  test.each(IN_ORDER.map(([name, , address], index) => ({ name, address, index })))(
    "headers are examined in this order: $name is number $index",
    async ({ address, index }) => {
      const fromHere = Object.fromEntries(IN_ORDER.slice(index).map(([name, value]) => [name, value]));
      expect(await resolved(fromHere, "93.16.100.7")).toBe(address);
      expect(await askOverSocket(ip, { headers: fromHere, httpMiddleware: [IpMiddleware] })).toBe(address);
    },
  );

  test("REMOTE_ADDR, the socket's address, is the last", async () => {
    expect(await resolved({}, "93.16.100.7")).toBe("93.16.100.7");
    expect(await resolved({}, "192.168.1.1")).toBe("192.168.1.1");
    expect(await askOverSocket(ip, { httpMiddleware: [IpMiddleware] })).toBe("127.0.0.1");
  });

  test.each([
    ["private", "10.1.2.3, 172.16.0.1, 192.168.0.1, fd00::1"],
    ["loopback and link-local", "127.0.0.1, ::1, 169.254.1.1, fe80::1"],
    ["reserved", "0.0.0.0, 240.0.0.1, 255.255.255.255, 192.0.0.1"],
    ["carrier-grade", "100.64.0.1"],
    ["documentation", "192.0.2.1, 198.51.100.1, 203.0.113.1, 2001:db8::1"],
    ["multicast", "224.0.0.1, ff02::1"],
    ["garbage", 'unknown, , 1.2.3, 999.1.1.1, 8.8.8.8.8, for=8.8.8.8, _hidden, "'],
  ])("S44 the first non-private, non-reserved address is returned: %s is skipped", async (_, list) => {
    expect(await resolved({ "x-forwarded-for": `${list}, 8.8.8.8, 1.1.1.1` })).toBe("8.8.8.8");
    expect(await resolved({ "client-ip": list, "x-forwarded": "8.8.8.8" })).toBe("8.8.8.8");
    expect(await resolved({ "x-forwarded-for": list })).toBe("192.168.1.1");
  });

  test("subclassing IpMiddleware and changing its headers customizes the headers and their order", async () => {
    class OwnHeaders extends IpMiddleware {
      static override headers = ["HTTP_X_REAL_IP", "HTTP_CLIENT_IP", "REMOTE_ADDR"];
    }
    const all = { "client-ip": "8.8.8.8", "x-real-ip": "1.1.1.1", "x-forwarded-for": "9.9.9.9" };
    expect(await resolved(all, "10.0.0.1", OwnHeaders)).toBe("1.1.1.1");
    expect(await resolved({ ...all, "x-real-ip": "10.0.0.1" }, "10.0.0.1", OwnHeaders)).toBe("8.8.8.8");
    expect(await resolved({ "x-forwarded-for": "9.9.9.9" }, "10.0.0.1", OwnHeaders)).toBe("10.0.0.1");
    expect(await resolved(all)).toBe("8.8.8.8");
  });

  test("Client-Ip: 172.16.0.2,255.255.255.255, X-Forwarded: 93.16.100.10, socket 192.167.2.1", async () => {
    const headers = { "client-ip": "172.16.0.2,255.255.255.255", "x-forwarded": "93.16.100.10" };
    expect(await resolved(headers, "192.167.2.1")).toBe("93.16.100.10");
  });

  test("X-Forwarded-For: 10.0.0.1, 8.8.8.8, 1.1.1.1", async () => {
    expect(await resolved({ "x-forwarded-for": "10.0.0.1, 8.8.8.8, 1.1.1.1" })).toBe("8.8.8.8");
  });

  test("X-Forwarded-For: garbage, socket 10.1.1.1", async () => {
    expect(await resolved({ "x-forwarded-for": "garbage" }, "10.1.1.1")).toBe("10.1.1.1");
  });
});

describe("ip()", () => {
  test("IPv4: an IPv4-mapped IPv6 address counts as its IPv4; an IPv6 client has its canonical IPv6", async () => {
    expect(await resolved({ "x-forwarded-for": "::ffff:8.8.8.8" })).toBe("8.8.8.8");
    expect(await resolved({ "x-forwarded-for": "::FFFF:0808:0808" })).toBe("8.8.8.8");
    expect(await resolved({ "x-forwarded-for": "2606:4700:0000:0:0:0:0:1111" })).toBe("2606:4700::1111");
    expect(await resolved({}, "2606:4700:0::1111")).toBe("2606:4700::1111");
  });

  test.each([
    ["x-forwarded-for", "8.8.8.8:4711", "8.8.8.8"],
    ["x-forwarded-for", "[2606:4700::1111]:443", "2606:4700::1111"],
    ["forwarded", "for=8.8.8.8", "8.8.8.8"],
    ["forwarded", "for=10.0.0.1, for=8.8.8.8;proto=https;by=10.0.0.2", "8.8.8.8"],
    ["forwarded", 'proto=https;For="8.8.8.8:4711"', "8.8.8.8"],
    ["forwarded", 'for="[2606:4700::1111]:4711"', "2606:4700::1111"],
    ["forwarded", "for=unknown, for=_hidden, for=8.8.8.8", "8.8.8.8"],
    ["forwarded", "by=8.8.8.8", "192.168.1.1"],
  ])("entries with ports and Forwarded: for= are parsed: %s: %s", async (name, value, address) => {
    expect(await resolved({ [name]: value })).toBe(address);
  });

  describe("with trustedProxies (addresses, CIDRs)", () => {
    const trustedProxies = ["10.0.0.0/8", "93.16.100.1"];

    test.each([
      ["the headers of any other peer are ignored", "8.8.4.4", "1.1.1.1", "8.8.4.4"],
      ["a trusted peer's X-Forwarded-For is used", "10.0.0.1", "1.1.1.1", "1.1.1.1"],
      ["it is read from the right", "10.0.0.1", "8.8.8.8, 1.1.1.1", "1.1.1.1"],
      ["trusted entries are skipped", "10.0.0.1", "8.8.8.8, 1.1.1.1, 93.16.100.1, 10.2.3.4", "1.1.1.1"],
      ["an invalid entry ends it", "10.0.0.1", "8.8.8.8, garbage, 93.16.100.1", "93.16.100.1"],
    ])("%s", async (_, peer, chain, address) => {
      const headers = { "x-forwarded-for": chain, "client-ip": "9.9.9.9" };
      expect(await ask(ip, { headers, ip: peer, httpMiddleware: [IpMiddleware], trustedProxies })).toBe(address);
    });
  });

  test("throttling and the audit trail use the socket's address unless trustedProxies is set", async () => {
    const question = ({ request }: HttpContext) => [request.ip(), request.clientAddress];
    const sent = { headers: { "x-forwarded-for": "8.8.8.8" }, ip: "10.0.0.1" };
    expect(await ask(question, sent)).toEqual([null, "10.0.0.1"]);
    expect(await ask(question, { ...sent, httpMiddleware: [IpMiddleware] })).toEqual(["8.8.8.8", "10.0.0.1"]);
    expect(await ask(question, { ...sent, trustedProxies: ["10.0.0.1"] })).toEqual([null, "8.8.8.8"]);
    expect(await ask(question, { ...sent, trustedProxies: ["10.0.0.1"], httpMiddleware: [IpMiddleware] })).toEqual([
      "8.8.8.8",
      "8.8.8.8",
    ]);
  });
});
