import { errors, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { MUTATIONS, NOW, type Sample, sample } from "../../../test/support/jwt-samples.ts";
import { type JwtFailure, tryVerifyJwt } from "./index.ts";

const TOKENS = 20_000;
const BATCH = 500;

/** The code of jose's error, or the claims that jose accepted. */
async function judgeByJose({ party, token }: Sample): Promise<{ refused: string } | { claims: unknown }> {
  try {
    const { payload } = await jwtVerify(token, party.jose, {
      algorithms: [party.algorithm],
      typ: "JWT",
      requiredClaims: ["sub"],
      currentDate: new Date(NOW * 1000),
      clockTolerance: 0,
    });
    return { claims: payload };
  } catch (error) {
    if (error instanceof errors.JOSEError) return { refused: error.code };
    // For some tokens that jose refuses, it throws WebCrypto's or JSON's own errors.
    return { refused: (error as Error).name };
  }
}

function judge(one: Sample, token: string): ReturnType<typeof tryVerifyJwt> {
  return tryVerifyJwt(token, one.party.ours, { clock: () => NOW, requireSubject: true, exactTyp: true });
}

/** The token with its signature's bytes in their canonical spelling. */
function respell(token: string): string {
  const dot = token.lastIndexOf(".") + 1;
  return token.slice(0, dot) + Buffer.from(token.slice(dot), "base64url").toString("base64url");
}

test(`S1 S3 S6 S7 of ${TOKENS} tokens, none that jose refuses is accepted, and all valid ones are accepted by both`, async () => {
  const counts = { "accepted by both": 0, "refused by both": 0, "refused here only": 0, "refused by jose only": 0 };
  const forSignature = { byJose: 0, here: 0 };
  const strictness = new Map<string, number>();
  const kinds = new Map<string, number>();
  const surprises: unknown[] = [];

  for (let done = 0; done < TOKENS; done += BATCH) {
    const samples = Array.from({ length: BATCH }, sample);
    const verdicts = await Promise.all(samples.map(judgeByJose));
    for (const [index, one] of samples.entries()) {
      const jose = verdicts[index];
      if (jose === undefined) throw new Error("a verdict is missing");
      const ours = judge(one, one.token);
      kinds.set(one.kind, (kinds.get(one.kind) ?? 0) + 1);
      const failure: JwtFailure | null = "failure" in ours ? ours.failure : null;
      if (failure === "signature") forSignature.here++;
      if ("refused" in jose && jose.refused === "ERR_JWS_SIGNATURE_VERIFICATION_FAILED") forSignature.byJose++;
      if (one.sound && (failure !== null || "refused" in jose)) surprises.push({ ...one, jose, ours });
      if ("claims" in jose && "claims" in ours) {
        counts["accepted by both"]++;
        if (JSON.stringify(jose.claims) !== JSON.stringify(ours.claims)) surprises.push({ ...one, jose, ours });
      } else if ("refused" in jose && failure !== null) {
        counts["refused by both"]++;
      } else if (failure !== null) {
        counts["refused here only"]++;
        strictness.set(failure, (strictness.get(failure) ?? 0) + 1);
        // If only jose accepts a signature, it can only be the right one in another spelling.
        if (failure === "signature" && !("claims" in judge(one, respell(one.token))))
          surprises.push({ ...one, jose, ours });
      } else {
        counts["refused by jose only"]++;
        surprises.push({ ...one, jose, ours });
      }
    }
  }

  console.log({
    counts,
    forSignature,
    "refused here only, by reason": Object.fromEntries(strictness),
    kinds: Object.fromEntries(kinds),
  });
  expect(surprises.slice(0, 5)).toEqual([]);
  expect(counts["refused by jose only"]).toBe(0);
  expect(counts["accepted by both"]).toBeGreaterThan(TOKENS / 4);
  expect(counts["refused by both"]).toBeGreaterThan(TOKENS / 4);
  expect(forSignature.byJose).toBeGreaterThan(TOKENS / 10);
  expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(TOKENS);
  // Ashlar is stricter about the spelling, any crit or b64, the exact type, the types of claims, and an iat in the
  // future.
  for (const reason of strictness.keys()) {
    expect(["malformed", "critical_header", "type", "claims", "not_yet_valid", "signature", "subject"]).toContain(
      reason,
    );
  }
  // Every token type came up often enough to be significant.
  expect([...kinds.values()].every((count) => count > 150)).toBe(true);
  expect(kinds.size).toBe(5 + Object.keys(MUTATIONS).length);
});
