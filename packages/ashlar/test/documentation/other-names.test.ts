// The names that scripts/private-names.ts gives for types that aren't public, compared with them by TypeScript.
import { expectTypeOf, test } from "vitest";
import type { Feature, Router } from "../../src/public/index.ts";
import type { JwtError, SigningKey, verifyJwt } from "../../src/public/jwt.ts";
import type { Limits } from "../../src/public/throttle.ts";
import type { CompiledRoute } from "../../src/routing/index.ts";
import type { JwtFailure, JwtVerifyOptions, KeyMaterial } from "../../src/security/jwt/index.ts";
import type { LimitDeclaration, LimitName } from "../../src/throttle/index.ts";

test("types that are not public have other names", () => {
  expectTypeOf<CompiledRoute>().toEqualTypeOf<Router["routes"][number]>();
  expectTypeOf<JwtFailure>().toEqualTypeOf<JwtError["reason"]>();
  expectTypeOf<JwtVerifyOptions>().toEqualTypeOf<NonNullable<Parameters<typeof verifyJwt>[2]>>();
  expectTypeOf<KeyMaterial>().toEqualTypeOf<ConstructorParameters<typeof SigningKey>[1]>();
  expectTypeOf<LimitName>().toEqualTypeOf<keyof Limits>();
  expectTypeOf<LimitDeclaration>().toEqualTypeOf<NonNullable<NonNullable<Feature["limits"]>[keyof Limits]>>();
});
