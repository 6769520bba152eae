// Tokens cross between this framework and the libraries that other services use, in both directions, for every algorithm.

import { createSecretKey } from "node:crypto";
import { createSigner, createVerifier, type Algorithm as FastJwtAlgorithm } from "fast-jwt";
import { createLocalJWKSet, createRemoteJWKSet, exportJWK, type JSONWebKeySet, jwtVerify, SignJWT } from "jose";
import jsonwebtoken from "jsonwebtoken";
import { describe, expect, onTestFinished, test } from "vitest";
import { Api, ApiProvider } from "../../src/api/index.ts";
import { AuthProvider } from "../../src/auth/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { type JwtAlgorithm, readJwks, tryVerifyJwt } from "../../src/security/jwt/index.ts";
import { ADA, createUserTable, insertUsers, UserWithToken } from "../support/application-parts.ts";
import { buildApplication, ownDatabases } from "../support/build-application.ts";
import { type PythonTokenResult, withPython } from "../support/python.ts";
import {
  CLAIMS,
  forgedFrom,
  judgedByUs,
  ourToken,
  publishedKeys,
  TOKEN_PARTIES,
  type TokenParty,
  withoutTimes,
} from "../support/token-parties.ts";

const ALL = TOKEN_PARTIES.map(({ algorithm }) => algorithm);
const CLASSIC = ALL.filter((algorithm) => !/^Ed/.test(algorithm));
const PAIRS = TOKEN_PARTIES.filter(({ isSecret }) => !isSecret);

const partyOf = (algorithm: JwtAlgorithm): TokenParty => TOKEN_PARTIES.find((one) => one.algorithm === algorithm)!;

/** The part of a library that is needed here. */
interface Library {
  readonly algorithms: readonly JwtAlgorithm[];
  sign(party: TokenParty): string | Promise<string>;
  /** @throws if the token is not valid */
  verify(party: TokenParty, token: string): object | Promise<object>;
}

const LIBRARIES: Readonly<Record<string, Library>> = {
  jose: {
    // WebCrypto, which jose uses, has no Ed448.
    algorithms: ALL.filter((algorithm) => algorithm !== "Ed448"),
    sign: ({ algorithm, privateKey, privateText }) =>
      new SignJWT(CLAIMS)
        .setProtectedHeader({ alg: algorithm, typ: "JWT" })
        .setExpirationTime("1h")
        .sign(privateKey ?? Buffer.from(privateText)),
    verify: async ({ algorithm, publicKey, publicText }, token) =>
      (await jwtVerify(token, publicKey ?? createSecretKey(Buffer.from(publicText)), { algorithms: [algorithm] }))
        .payload,
  },
  jsonwebtoken: {
    algorithms: CLASSIC,
    sign: ({ algorithm, privateText }) =>
      jsonwebtoken.sign(CLAIMS, privateText, { algorithm: algorithm as jsonwebtoken.Algorithm, expiresIn: "1h" }),
    verify: ({ algorithm, publicText }, token) =>
      jsonwebtoken.verify(token, publicText, { algorithms: [algorithm as jsonwebtoken.Algorithm] }) as object,
  },
  "fast-jwt": {
    // The names of RFC 9864 are not known to it.
    algorithms: [...CLASSIC, "EdDSA"],
    sign: ({ algorithm, privateText }) =>
      createSigner({ key: privateText, algorithm: algorithm as FastJwtAlgorithm, expiresIn: 3_600_000 })({ ...CLAIMS }),
    verify: ({ algorithm, publicText }, token) =>
      createVerifier({ key: publicText, algorithms: [algorithm as FastJwtAlgorithm] })(token) as object,
  },
};

describe.each(Object.entries(LIBRARIES))("%s", (_, library) => {
  test.each(library.algorithms)("verifies our tokens, and we verify its: %s", async (algorithm) => {
    const party = partyOf(algorithm);
    const ours = ourToken(party);
    expect(withoutTimes(await library.verify(party, ours))).toEqual(CLAIMS);
    await expect(async () => await library.verify(party, forgedFrom(ours))).rejects.toThrow();
    const theirs = await library.sign(party);
    expect(judgedByUs(party, theirs)).toEqual(CLAIMS);
    expect(judgedByUs(party, forgedFrom(theirs))).toBe("signature");
  });
});

test("jose verifies our tokens with our published key set", async () => {
  const set = createLocalJWKSet(publishedKeys() as unknown as JSONWebKeySet);
  for (const party of PAIRS.filter(({ algorithm }) => algorithm !== "Ed448")) {
    expect(withoutTimes((await jwtVerify(ourToken(party), set)).payload)).toEqual(CLAIMS);
    await expect(jwtVerify(forgedFrom(ourToken(party)), set)).rejects.toMatchObject({
      code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    });
  }
});

describe.each([
  ["jwt", [...CLASSIC, "EdDSA"]],
  ["authlib", [...CLASSIC, "EdDSA"]],
] as const)("Python", (module, algorithms) => {
  withPython(module, (run) => {
    test(`verifies our tokens, and we verify its: ${algorithms.join(", ")}`, async () => {
      const parties = (algorithms as readonly JwtAlgorithm[]).map(partyOf);
      const tokens = parties.map((party) => {
        const token = ourToken(party);
        const exp = Math.floor(Date.now() / 1000) + 3600;
        return {
          algorithm: party.algorithm,
          ...{ private: party.privateText, public: party.publicText, claims: { ...CLAIMS, exp } },
          header: party.isSecret ? {} : { kid: party.verification.publicJwk!.kid },
          ...{ token, forged: forgedFrom(token) },
          ...(party.isSecret ? {} : { set: publishedKeys([party, partyOf("ES256")]) }),
        };
      });
      const results = await run(tokens);
      const judged = results.map((result, index) => {
        const theirs = result.token?.value ?? "";
        return [
          parties[index]!.algorithm,
          result.verified?.value === undefined ? result.verified : withoutTimes(result.verified.value),
          result.forged?.error,
          judgedByUs(parties[index]!, theirs),
          judgedByUs(parties[index]!, forgedFrom(theirs)),
        ];
      });
      const refusal = module === "jwt" ? "InvalidSignatureError" : "BadSignatureError";
      expect(judged).toEqual(algorithms.map((algorithm) => [algorithm, CLAIMS, refusal, CLAIMS, "signature"]));
      const bySet = results.flatMap(({ bySet: one }) => (one === undefined ? [] : [withoutTimes(one.value ?? one)]));
      expect(bySet).toEqual(Array(algorithms.length - 3).fill(CLAIMS));
    });
  });
});

class User extends UserWithToken {
  static override table = "users";
}

describe("the keys that an application publishes", () => {
  /** An application on a separate port, with a driver for each algorithm. */
  async function publishing(algorithms: readonly JwtAlgorithm[]) {
    const named = algorithms.map((algorithm) => [algorithm.toLowerCase(), partyOf(algorithm)] as const);
    const application = await buildApplication({
      routes: named.flatMap(([driver]) => Api.keys({ driver })),
      providers: [EventProvider, DatabaseProvider, AuthProvider, ApiProvider],
      config: {
        api: {
          DRIVERS: Object.fromEntries(
            named.map(([name, { algorithm, privateText }]) => {
              // The audience keeps drivers with one user apart.
              const audience = `https://${name}.example`;
              return [name, { algorithm, secret: privateText, model: User, audience, authenticates: false }];
            }),
          ),
        },
        auth: { GUARDS: { default: named[0]![0] } },
      },
      databases: await ownDatabases({
        contents: {
          name: "token-libraries",
          async fill(database) {
            await createUserTable(database, "users");
            await insertUsers(database, "users", [ADA]);
          },
        },
      }),
      models: [User],
    });
    const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    onTestFinished(() => application.shutdown());
    return named.map(([name, party]) => ({
      party,
      url: new URL(`/.well-known/${name}/jwks.json`, url),
      token: ourToken(party),
    }));
  }

  test("are fetched by jose", async () => {
    for (const { url, token } of await publishing(["ES256"])) {
      const keys = createRemoteJWKSet(url);
      expect(withoutTimes((await jwtVerify(token, keys)).payload)).toEqual(CLAIMS);
      await expect(jwtVerify(ourToken(partyOf("ES384")), keys)).rejects.toMatchObject({
        code: "ERR_JWKS_NO_MATCHING_KEY",
      });
    }
  });

  withPython("jwt", (run) => {
    test("are fetched by PyJWT", async () => {
      const published = await publishing(["ES256"]);
      const tokens = published.map(({ party: { algorithm }, url, token }) => ({ algorithm, url: url.href, token }));
      const results: readonly PythonTokenResult[] = await run(tokens);
      expect(results.map(({ byUrl }) => withoutTimes(byUrl?.value ?? byUrl ?? {}))).toEqual([CLAIMS]);
    });
  });
});

test("we read the key sets that jose exports, and verify its tokens with them", async () => {
  // No library here knows Ed448 by its name; that is in the vectors of RFC 8037.
  const parties = PAIRS.filter(({ algorithm }) => algorithm !== "Ed448");
  const exported = await Promise.all(
    parties.map(async ({ algorithm, publicKey }) => ({
      ...(await exportJWK(publicKey!)),
      ...{ kid: `theirs, for ${algorithm}`, alg: algorithm, use: "sig" },
    })),
  );
  const { keys, ignored } = readJwks(JSON.parse(JSON.stringify({ keys: exported })), ALL, 100);
  expect(ignored).toBe(0);
  for (const { algorithm, privateKey } of parties) {
    const header = { alg: algorithm, kid: `theirs, for ${algorithm}` };
    const token = await new SignJWT(CLAIMS).setProtectedHeader(header).setExpirationTime("1h").sign(privateKey!);
    expect(tryVerifyJwt(token, keys)).toMatchObject({ claims: CLAIMS });
    expect(tryVerifyJwt(forgedFrom(token), keys)).toEqual({ failure: "signature" });
  }
});
