// The names that scripts/private-names.ts gives for types that aren't public, compared with them by TypeScript.
import { expectTypeOf, test } from "vitest";
import type { CredentialTableOptions, CredentialUse } from "../../src/auth/credentials/credential.ts";
import type { SecurityEvent, UserClass } from "../../src/auth/index.ts";
import type { FeatureCommand } from "../../src/boot/index.ts";
import type { AuthenticatableClass, CredentialTable } from "../../src/public/auth.ts";
import type { EventMap } from "../../src/public/events.ts";
import type { Feature, Router } from "../../src/public/index.ts";
import type { JwtError, SigningKey, verifyJwt } from "../../src/public/jwt.ts";
import type { Limits } from "../../src/public/throttle.ts";
import type { CompiledRoute, ControllerClass } from "../../src/routing/index.ts";
import type { JwtFailure, JwtVerifyOptions, KeyMaterial } from "../../src/security/jwt/index.ts";
import type { LimitDeclaration, LimitName } from "../../src/throttle/index.ts";

test("types that are not public have other names", () => {
  expectTypeOf<CredentialTableOptions<{ note: string }>>().toEqualTypeOf<
    ConstructorParameters<typeof CredentialTable<{ note: string }>>[0]
  >();
  expectTypeOf<CredentialUse>().toEqualTypeOf<{ readonly guard: string; readonly id: string; readonly at: Date }>();
  expectTypeOf<SecurityEvent>().toEqualTypeOf<Pick<EventMap["auth.logout"], "time" | "address" | "guard">>();
  expectTypeOf<UserClass>().toEqualTypeOf<NonNullable<AuthenticatableClass["userClass"]>>();
  expectTypeOf<FeatureCommand>().toEqualTypeOf<NonNullable<Feature["commands"]>[number]>();
  expectTypeOf<ControllerClass<Date>>().toEqualTypeOf<new (services: never) => Date>();
  expectTypeOf<CompiledRoute>().toEqualTypeOf<Router["routes"][number]>();
  expectTypeOf<JwtFailure>().toEqualTypeOf<JwtError["reason"]>();
  expectTypeOf<JwtVerifyOptions>().toEqualTypeOf<NonNullable<Parameters<typeof verifyJwt>[2]>>();
  expectTypeOf<KeyMaterial>().toEqualTypeOf<ConstructorParameters<typeof SigningKey>[1]>();
  expectTypeOf<LimitName>().toEqualTypeOf<keyof Limits>();
  expectTypeOf<LimitDeclaration>().toEqualTypeOf<NonNullable<NonNullable<Feature["limits"]>[keyof Limits]>>();
});
