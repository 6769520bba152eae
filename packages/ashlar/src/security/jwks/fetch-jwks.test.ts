import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../../test/support/certificate.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { startIssuer, type TokenIssuer } from "../../../test/support/token-issuer.ts";
import { FETCH_LIMITS, fetchJwks } from "./fetch-jwks.ts";

const SIGNAL = new AbortController().signal;

/** The result of a fetch: the document, or the reason for the failure. */
async function outcome({ url }: TokenIssuer, limits = FETCH_LIMITS, ca: string | null = null): Promise<unknown> {
  try {
    return (await fetchJwks(new URL(url), SIGNAL, ca, limits)).document;
  } catch (error) {
    return (error as Error).message;
  }
}

test("the document is fetched, and for how long it may be kept", async () => {
  const issuer = await startIssuer();
  const published = { keys: [issuer.keys[0]!.jwk] };
  expect(await fetchJwks(new URL(issuer.url), SIGNAL)).toEqual({ document: published, maxAgeSeconds: null });
  const ages = ["public, max-age=600", "MAX-AGE=600", "max-age=600,must-revalidate"];
  for (const cacheControl of ages) {
    issuer.headers = { "content-type": "application/jwk-set+json", "cache-control": cacheControl };
    expect(await fetchJwks(new URL(issuer.url), SIGNAL)).toEqual({ document: published, maxAgeSeconds: 600 });
  }
  for (const cacheControl of ["no-store", "s-max-age=5", "max-age=-1", "max-age=1e9", "max-age=99999999999"]) {
    issuer.headers = { "content-type": "application/json; charset=utf-8", "cache-control": cacheControl };
    expect((await fetchJwks(new URL(issuer.url), SIGNAL)).maxAgeSeconds).toBeNull();
  }
});

describe("S103", () => {
  test("S103 redirects are not followed, wherever they lead", async () => {
    const [issuer, other] = [await startIssuer(), await startIssuer()];
    for (const location of [other.url, "/elsewhere", "https://attacker.example/keys", "file:///etc/passwd"]) {
      for (const status of [301, 302, 303, 307, 308]) {
        issuer.respond = (_request, response) => void response.writeHead(status, { location }).end();
        expect(await outcome(issuer)).toBe(`The status of the response is ${status}.`);
      }
    }
    expect([issuer.requests, other.requests]).toEqual([20, 0]);
  });

  test("S103 only a response with the status 200 counts", async () => {
    const issuer = await startIssuer();
    for (const status of [201, 203, 206, 304, 401, 404, 429, 500, 503]) {
      issuer.respond = (_request, response) => issuer.publish(response, status);
      expect(await outcome(issuer)).toBe(`The status of the response is ${status}.`);
    }
  });

  test.each([["text/html"], ["text/plain"], ["application/jsonp"], ["text/json"], ["image/svg+xml"], [""]])(
    "S103 a response of the type %j is refused",
    async (type) => {
      const issuer = await startIssuer();
      issuer.headers = type === "" ? {} : { "content-type": type };
      expect(await outcome(issuer)).toBe("The response is not JSON by its Content-Type.");
    },
  );

  test("S103 a compressed response is refused: a small one could expand without limit", async () => {
    const issuer = await startIssuer();
    issuer.headers = { "content-type": "application/json", "content-encoding": "gzip" };
    expect(await outcome(issuer)).toBe("The response is compressed.");
  });

  test.each([["not json"], [""], ['{"keys":'], ["\u0000"]])("S103 %j is refused, and not quoted", async (text) => {
    const issuer = await startIssuer();
    issuer.respond = (_request, response) => void response.writeHead(200, issuer.headers).end(text);
    expect(await outcome(issuer)).toBe("The response is not JSON.");
  });

  test("S103 text that is not UTF-8 is refused", async () => {
    const issuer = await startIssuer();
    issuer.respond = (_request, response) =>
      void response.writeHead(200, issuer.headers).end(Buffer.from([0x7b, 0xff, 0x7d]));
    expect(await outcome(issuer)).toBe("The response is not UTF-8 text.");
  });

  test("S103 a response that never ends is cut off once it is too large", async () => {
    const issuer = await startIssuer();
    let sent = 0;
    const closed = new Promise<void>((resolve) => {
      issuer.respond = (_request, response) => {
        response.writeHead(200, issuer.headers);
        const send = () => {
          while (!response.destroyed && response.write("x".repeat(65_536))) sent += 65_536;
        };
        response.on("drain", send).on("close", resolve);
        send();
      };
    });
    expect(await outcome(issuer, { timeoutMs: 60_000, maxBytes: 100_000 })).toBe(
      "The response is larger than 100000 bytes.",
    );
    await closed;
    expect(sent).toBeLessThan(50_000_000);
  });

  test.each<[string, (issuer: TokenIssuer) => void]>([
    ["never responds", () => {}],
    [
      "sends its headers, and no content",
      (issuer) => {
        issuer.respond = (_request, response) => response.writeHead(200, issuer.headers).flushHeaders();
      },
    ],
    [
      "sends a byte now and then",
      (issuer) => {
        issuer.respond = (_request, response) => {
          response.writeHead(200, issuer.headers).write("{");
          const timer = setInterval(() => response.write(" "), 5);
          response.on("close", () => clearInterval(timer));
        };
      },
    ],
  ])("S103 a server that %s is abandoned after the time limit", async (_, prepare) => {
    const issuer = await startIssuer();
    issuer.respond = () => {};
    prepare(issuer);
    expect(await outcome(issuer, { timeoutMs: 60, maxBytes: 100_000 })).toBe(
      "There was no complete response within 60 ms.",
    );
  });

  test("S103 endless headers are refused", async () => {
    const issuer = await startIssuer();
    issuer.headers = { "content-type": "application/json", "x-a": "a".repeat(40_000) };
    expect(await outcome(issuer)).toMatch(/header/i);
  });

  test("S103 a certificate that is not trusted, or for another host, is refused", async () => {
    const own = async (host: string) => {
      const { key, chain } = makeCertificate(await temporaryFolder(), host);
      return { key: readFileSync(key, "utf8"), cert: readFileSync(chain, "utf8") };
    };
    const [right, wrong] = [await own("localhost"), await own("id.example")];
    const [issuer, other] = [await startIssuer([], right), await startIssuer([], wrong)];
    expect(await outcome(issuer)).toMatch(/certificate/);
    // It may have been set for another server.
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    const still = await outcome(issuer);
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    expect(still).toMatch(/certificate/);
    const trusted = getCACertificates();
    onTestFinished(() => setDefaultCACertificates(trusted));
    setDefaultCACertificates([...trusted, right.cert, wrong.cert]);
    expect(await outcome(issuer)).toEqual({ keys: [] });
    expect(await outcome(other)).toMatch(/altnames|does not match/i);
    expect([issuer.requests, other.requests]).toEqual([1, 0]);
  });
});

test("S103 an issuer's own authority verifies its server, and no other", async () => {
  const own = async (host: string) => {
    const { key, chain } = makeCertificate(await temporaryFolder(), host);
    return { key: readFileSync(key, "utf8"), cert: readFileSync(chain, "utf8") };
  };
  const [right, wrong, stranger] = [await own("localhost"), await own("id.example"), await own("localhost")];
  const [issuer, other] = [await startIssuer([], right), await startIssuer([], wrong)];
  expect(await outcome(issuer, FETCH_LIMITS, right.cert)).toEqual({ keys: [] });
  expect(await outcome(issuer, FETCH_LIMITS, stranger.cert)).toMatch(/certificate/);
  expect(await outcome(issuer)).toMatch(/certificate/);
  expect(await outcome(other, FETCH_LIMITS, wrong.cert)).toMatch(/altnames|does not match/i);
  issuer.respond = (_request, response) => void response.writeHead(302, { location: "/elsewhere" }).end();
  expect(await outcome(issuer, FETCH_LIMITS, right.cert)).toBe("The status of the response is 302.");
  issuer.respond = (_request, response) => void response.writeHead(200, issuer.headers).end("x".repeat(100));
  expect(await outcome(issuer, { ...FETCH_LIMITS, maxBytes: 50 }, right.cert)).toBe(
    "The response is larger than 50 bytes.",
  );
  expect([issuer.requests, other.requests]).toEqual([3, 0]);
});

test("a missing server is a failure with the reason", async () => {
  const issuer = await startIssuer();
  issuer.respond = (request) => void request.socket.destroy();
  expect(await outcome(issuer)).toMatch(/socket hang up|ECONNRESET/);
  await expect(fetchJwks(new URL("http://127.0.0.1:1/"), SIGNAL)).rejects.toThrow(/ECONNREFUSED/);
});

test("an attempt can be aborted", async () => {
  const issuer = await startIssuer();
  const closing = new AbortController();
  issuer.respond = () => closing.abort();
  await expect(fetchJwks(new URL(issuer.url), closing.signal)).rejects.toThrow(/abort/i);
});
