import { expect, onTestFinished, test, vi } from "vitest";
import { declareSecretNames, isSecretName } from "./secret-names.ts";

test.each([
  ...["password", "password_confirmation", "newPassword", "newpassword", "PASSWORD", "x_PassWord", "password_hash"],
  ...["passwd", "pwd", "pass", "smtpPass", "db_pass", "passphrase", "passcode", "pin", "PIN", "card_pin", "cvv"],
  ...["otp", "otp_code", "totp", "one_time_code", "recovery_codes", "recoveryCode", "verification-code", "mfa_code"],
  ...["token", "tokens", "tokenValue", "api_token", "apiToken", "accesstoken", "refreshToken", "X-CSRF-TOKEN", "csrf"],
  ...["__token", "csrf_field", "xsrf", "reset_token", "jwt", "bearer", "secret", "client_secret", "clientSecrets"],
  ...["JWT_SECRET", "previousSecrets", "authorization", "Proxy-Authorization", "cookie", "Set-Cookie", "cookies"],
  ...["x-api-key", "apikey", "apiKeys", "APP_KEY", "private_key", "previousKeys", "APP_PREVIOUS_KEYS", "accessKey"],
  ...[
    "encryption_key",
    "masterKey",
    "signing_key",
    "secretKey",
    "session_id",
    "sessionId",
    "credentials",
    "userCredential",
    "user[password]",
    "a.b.token",
  ],
])("S60 %s is the name of a secret", (name) => {
  expect(isSecretName(name)).toBe(true);
});

test.each([
  ...["name", "email", "passport", "passport_number", "passenger", "compass", "bypass", "boardingPass", "author"],
  ...["authority", "authorized", "authorizedBy", "pinned", "opinion", "shipping", "spin", "pinterest", "tokenizer"],
  ...["tokenization", "token_type", "tokenCount", "token_id", "password_changed_at", "passwordChangedAt"],
  ...["password_reset_expiration", "secretary", "secretariat", "cookie_consent", "cookiePolicy", "cookieName"],
  ...["key", "primaryKey", "primary_key", "foreignKey", "publicKey", "keyboard", "monkey", "code", "statusCode"],
  ...["zip_code", "country-code", "promoCode", "timecoded", "session", "sessions", "hotpot", "stoke_nightly", "", "__"],
  ...["description", "accept", "user-agent", "host", "referer", "requestId", "path", "durationMs", "signature", "2"],
])("S60 %j is not the name of a secret", (name) => {
  expect(isSecretName(name)).toBe(false);
});

test("names of any length and with any characters are checked quickly", () => {
  expect(isSecretName("A".repeat(1_000_000))).toBe(false);
  expect(isSecretName("größe\u0000\ud800 密码")).toBe(false);
});

test("only the beginning of a very long name is checked, and the cache of names is limited", () => {
  expect([isSecretName(`${"a_".repeat(120)}token`), isSecretName(`${"a_".repeat(130)}token`)]).toEqual([true, false]);
  const remember = vi.spyOn(Map.prototype, "set");
  onTestFinished(() => remember.mockRestore());
  for (let number = 0; number < 5000; number++) isSecretName(`sent_by_a_client_${number}`);
  const remembered = remember.mock.calls.filter(([name]) => String(name).startsWith("sent_by_a_client_"));
  expect(remembered.length).toBeLessThanOrEqual(2000);
});

test("S60 a declared name matches in every spelling and within longer names, unless they only describe it", () => {
  const names = ["gate_badge", "gateBadge", "GATE-BADGE", "newGateBadge", "gate_badge_old"];
  const others = ["gate", "badge", "badge_gate", "gatebadges", "gate_badge_expires_at", "tailgate_badge"];
  expect([...names, ...others].filter(isSecretName)).toEqual([]);
  declareSecretNames("gate_badge", "gate-badge");
  expect([...names, ...others].filter(isSecretName)).toEqual(names);
});

test("S60 a declared name matches itself, whatever it ends with", () => {
  expect(isSecretName("door_id")).toBe(false);
  declareSecretNames("doorId");
  expect(["door_id", "front_door_id", "door_id_count"].map(isSecretName)).toEqual([true, true, false]);
});

test("a name without letters and digits cannot be declared", () => {
  expect(() => declareSecretNames("__")).toThrow(
    '"__" cannot be the name of a secret. Name a field: declareSecretNames("door_code").',
  );
});
