import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AT, forge, HEADER, judge, KEY, seal, segment } from "../../../test/support/jwt-forgery.ts";
import { tryVerifyJwt, verifyJws } from "./index.ts";

afterEach(() => vi.restoreAllMocks());

describe("S3 the signature", () => {
  test("S3 the payload is not parsed until the signature is verified", () => {
    const parse = vi.spyOn(JSON, "parse");
    const token = forge('{"sub":"1"}');
    const flipped = `${token.slice(0, -2)}${token.at(-2) === "A" ? "B" : "A"}${token.at(-1)}`;
    expect(judge(flipped)).toBe("signature");
    expect(parse).not.toHaveBeenCalled();
    expect(judge(token)).toBe("accepted");
    expect(parse.mock.calls).toEqual([['{"sub":"1"}']]);
  });

  test("S3 a malformed payload with a wrong signature is refused for its signature", () => {
    for (const payload of ["not json", '{"exp":"x"}', "[]", '{"__proto__":1}']) {
      expect(judge(forge(payload).replace(/.{20}$/, "A".repeat(20)))).toBe("signature");
    }
  });

  test("S3 the signature of one token is not valid for another", () => {
    const one = forge('{"sub":"1"}').split(".");
    const two = forge('{"sub":"2"}').split(".");
    expect(judge(`${one[0]}.${two[1]}.${one[2]}`)).toBe("signature");
    expect(judge(`${one[0]}.${one[1]}.${two[2]}`)).toBe("signature");
    expect(judge(`${one[1]}.${one[0]}.${one[2]}`)).toBe("algorithm");
  });

  test("S3 signatures are compared in constant time, with timingSafeEqual of node:crypto", () => {
    const source = readFileSync(join(import.meta.dirname, "hmac.ts"), "utf8");
    expect(source).toMatch(/return timingSafeEqual\(/);
    expect(source).not.toMatch(/\.(equals|compare)\(|code ===|=== code/);
  });

  test("S3 a token with any single bit of its signature flipped is refused", () => {
    const token = forge("{}");
    const dot = token.lastIndexOf(".") + 1;
    const signature = Buffer.from(token.slice(dot), "base64url");
    for (let bit = 0; bit < signature.length * 8; bit++) {
      const changed = Buffer.from(signature);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(judge(token.slice(0, dot) + changed.toString("base64url"))).toBe("signature");
    }
  });
});

describe("S5 extensions and other formats", () => {
  test("S5 any crit is refused, whatever its value", () => {
    const values = [null, [], ["exp"], ["b64"], ["alg"], {}, "", "exp", 0, false];
    for (const crit of values) {
      expect(judge(forge("{}", JSON.stringify({ alg: "HS512", typ: "JWT", crit, exp: 1 })))).toBe("critical_header");
    }
    expect(judge(forge("{}", '{"alg":"HS512","typ":"JWT","\\u0063rit":[]}'))).toBe("critical_header");
  });

  test("S5 any b64 is refused, true as well as false", () => {
    for (const b64 of [false, true, null, "false", 0]) {
      const header = JSON.stringify({ alg: "HS512", typ: "JWT", b64 });
      expect(judge(forge("{}", header))).toBe("critical_header");
      expect(() => verifyJws(forge("{}", header), KEY)).toThrow(expect.objectContaining({ reason: "critical_header" }));
    }
  });

  test("S5 five parts, or any number other than three, are refused before anything is parsed", () => {
    const parse = vi.spyOn(JSON, "parse");
    const part = segment('{"alg":"HS512","enc":"A256GCM"}');
    for (const parts of [1, 2, 4, 5, 6, 100]) {
      expect(judge(Array.from({ length: parts }, () => part).join("."))).toBe("malformed");
    }
    expect(judge(`${forge("{}")}.`)).toBe("malformed");
    expect(judge(`.${forge("{}")}`)).toBe("malformed");
    expect(parse).not.toHaveBeenCalled();
  });

  test("S5 a JWS in JSON serialization is refused, as text and as an object", () => {
    const [protectedHeader, payload, signature] = forge("{}").split(".");
    const json = { payload, protected: protectedHeader, signature };
    expect(judge(JSON.stringify(json))).toBe("malformed");
    expect(judge(json)).toBe("malformed");
  });
});

describe("S6 only one encoding", () => {
  const variants = (part: string): Record<string, string> => ({
    padding: `${part}=`,
    "two of padding": `${part}==`,
    "a space before": ` ${part}`,
    "a space behind": `${part} `,
    "a line break inside": `${part.slice(0, 4)}\n${part.slice(4)}`,
    "a tab inside": `${part.slice(0, 4)}\t${part.slice(4)}`,
    "a null behind": `${part}\0`,
    "a percent escape": `${part.slice(0, -1)}%${part.slice(-1)}`,
    "one character too many": `${part}A`,
  });

  test("S6 a non-canonical encoding of the header or payload is refused even if it is signed", () => {
    const header = segment(HEADER);
    const payload = segment('{"sub":"1"}');
    expect(judge(seal(header, payload))).toBe("accepted");
    for (const spelling of Object.values(variants(header))) expect(judge(seal(spelling, payload))).toBe("malformed");
    for (const spelling of Object.values(variants(payload))) expect(judge(seal(header, spelling))).toBe("malformed");
  });

  test("S6 a non-canonical encoding of the signature is refused", () => {
    const token = forge("{}");
    const dot = token.lastIndexOf(".") + 1;
    for (const spelling of Object.values(variants(token.slice(dot)))) {
      expect(judge(token.slice(0, dot) + spelling)).toBe("signature");
    }
  });

  test("S6 the standard alphabet is refused in every part", () => {
    const odd = '{"sub":"~~~???>>>"}';
    const header = '{"alg":"HS512","typ":"JWT","kid":"~~~???>>>"}';
    const foreign = (text: string) => Buffer.from(text).toString("base64").replace(/=+$/, "");
    expect(foreign(odd)).toMatch(/[+/]/);
    expect(foreign(header)).toMatch(/[+/]/);
    expect(judge(seal(segment(header), segment(odd)))).toBe("accepted");
    expect(judge(seal(segment(header), foreign(odd)))).toBe("malformed");
    expect(judge(seal(foreign(header), segment(odd)))).toBe("malformed");
    let token = forge(odd);
    for (let round = 0; !/[-_][^.]*$/.test(token); round++) token = forge(`{"sub":"${round}"}`);
    const dot = token.lastIndexOf(".") + 1;
    expect(judge(token)).toBe("accepted");
    expect(judge(token.slice(0, dot) + token.slice(dot).replaceAll("-", "+").replaceAll("_", "/"))).toBe("signature");
  });

  test("S6 any number of stray bits in the last character is refused in every part", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const others = (part: string) =>
      [...alphabet]
        .map((last) => part.slice(0, -1) + last)
        .filter(
          (spelling) => spelling !== part && Buffer.from(spelling, "base64url").equals(Buffer.from(part, "base64url")),
        );
    let tried = 0;
    for (const filler of ["", "x", "xx"]) {
      const header = segment(`{"alg":"HS512","typ":"JWT","x":"${filler}"}`);
      const payload = segment(`{"sub":"${filler}"}`);
      const token = seal(header, payload);
      const dot = token.lastIndexOf(".") + 1;
      expect(judge(token)).toBe("accepted");
      for (const spelling of others(header)) expect(judge(seal(spelling, payload))).toBe("malformed");
      for (const spelling of others(payload)) expect(judge(seal(header, spelling))).toBe("malformed");
      for (const spelling of others(token.slice(dot))) expect(judge(token.slice(0, dot) + spelling)).toBe("signature");
      tried += others(header).length + others(payload).length + others(token.slice(dot)).length;
    }
    expect(tried).toBe(18 + 18 + 45);
  });

  test("S6 characters whose low byte is in the alphabet are refused in every part", () => {
    const token = forge('{"sub":"1"}');
    expect(judge(token)).toBe("accepted");
    for (let index = 0; index < token.length; index++) {
      const alias = String.fromCharCode(0x100 + token.charCodeAt(index));
      expect(judge(token.slice(0, index) + alias + token.slice(index + 1))).not.toBe("accepted");
    }
  });

  test("S6 bytes that are not UTF-8, and a byte order mark, are refused", () => {
    const bad = [
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from("\uFEFF{}"),
      Buffer.from("{}", "utf16le"),
    ];
    for (const bytes of bad) expect(judge(forge(bytes))).toBe("malformed");
    expect(judge(forge("{}", `\uFEFF${HEADER}`))).toBe("malformed");
    expect(judge(forge("{}", Buffer.from('{"alg":"HS512","typ":"JWT","x":"\xff"}', "latin1")))).toBe("malformed");
  });

  test("S6 header and payload must each be a single plain object", () => {
    for (const json of [
      "[]",
      "[{}]",
      "null",
      "true",
      "5",
      '"{}"',
      "",
      " ",
      "{",
      "{}{}",
      "{}x",
      "{},",
      "{'a':1}",
      '{"a":1,}',
      "NaN",
      "undefined",
    ]) {
      expect(judge(forge(json))).toBe("malformed");
      expect(judge(forge("{}", json))).toBe("malformed");
    }
    expect(judge(forge(" {\n} "))).toBe("accepted");
  });

  test("S6 a token has at most 8192 bytes", () => {
    const filled = (bytes: number) => {
      const head = segment(HEADER).length + 2 + 86;
      // 12 of the payload's bytes aren't filler.
      const token = forge(`{"filler":"${"x".repeat(Math.floor(((bytes - head) * 3) / 4) - 13)}"}`);
      return token;
    };
    const longest = filled(8192);
    expect(longest.length).toBeGreaterThan(8185);
    expect(longest.length).toBeLessThanOrEqual(8192);
    expect(judge(longest)).toBe("accepted");
    const longer = filled(8198);
    expect(longer.length).toBeGreaterThan(8192);
    expect(longer.length).toBeLessThan(8200);
    expect(judge(longer)).toBe("too_large");
    expect(judge("x".repeat(10_000_000))).toBe("too_large");
    expect(judge(".".repeat(8192))).toBe("malformed");
  });

  test("S6 a member __proto__ is refused at any depth and however it is escaped, and changes no prototype", () => {
    const spellings = [
      '{"__proto__":{"admin":true}}',
      '{"__proto__":null}',
      '{"\\u005f_proto__":{"admin":true}}',
      '{"a":{"b":[{"__proto__":{"admin":true}}]}}',
      '{"a":{"b":[{"_\\u005Fproto_\\u005f":{"admin":true}}]}}',
      '{"sub":"1","__proto__":{"sub":"2"},"__proto__":{}}',
    ];
    for (const json of spellings) expect(judge(forge(json))).toBe("malformed");
    expect(judge(forge("{}", '{"alg":"HS512","typ":"JWT","__proto__":{"alg":"none"}}'))).toBe("malformed");
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test("S6 other names from the prototype are ordinary claims, and values may be anything", () => {
    const claims = {
      constructor: { prototype: { admin: true } },
      toString: "x",
      sub: "__proto__",
      list: ["\\", "__proto__"],
    };
    const outcome = tryVerifyJwt(forge(JSON.stringify(claims)), KEY, AT);
    expect(outcome).toEqual({ claims });
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test("S6 missing header members are not read from a polluted prototype", () => {
    const prototype = Object.prototype as unknown as Record<string, unknown>;
    prototype.alg = "HS512";
    prototype.typ = "JWT";
    try {
      expect(judge(forge("{}", "{}"))).toBe("algorithm");
      expect(judge(forge("{}", '{"alg":"HS512"}'))).toBe("type");
    } finally {
      delete prototype.alg;
      delete prototype.typ;
    }
  });
});
