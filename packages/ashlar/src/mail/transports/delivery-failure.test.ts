import { describe, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { deliveryFailure } from "./delivery-failure.ts";
import { DeliveryError } from "./mail-transport.ts";

function smtpError(message: string, details: object): Error {
  return Object.assign(new Error(message), details);
}

describe("whether another attempt could succeed", () => {
  test.each([
    ["a refused connection", { code: "ESOCKET" }, false],
    ["a host that is not found", { code: "EDNS" }, false],
    ["a timeout", { code: "ETIMEDOUT" }, false],
    ["an invalid certificate", { code: "ETLS" }, false],
    ["a temporary error from the server", { code: "EMESSAGE", responseCode: 451, permanent: false }, false],
    [
      "a permanent error from the server",
      { code: "EENVELOPE", command: "RCPT TO", responseCode: 550, permanent: true },
      true,
    ],
    ["a permanent error of another SMTP client", { responseCode: 550, permanent: true }, true],
    ["a login that cannot be checked now", { code: "EAUTH", responseCode: 454, permanent: false }, false],
    ["a refused login", { code: "EAUTH", command: "AUTH PLAIN", responseCode: 535, permanent: true }, false],
    ["an error from an application's own transport", {}, false],
  ])("after %s", (_, details, isPermanent) => {
    expect(deliveryFailure(smtpError("It failed.", details), "delivering").isPermanent).toBe(isPermanent);
  });

  test.each([
    ["CONN", "554 No SMTP service here", false],
    ["EHLO", "500 5.5.1 unknown command", false],
    ["HELO", "502 not here", false],
    ["STARTTLS", "500 5.5.1 unknown command", false],
    ["RSET", "500 5.5.1 unknown command", false],
    ["MAIL FROM", "552 5.3.4 insufficient system storage", false],
    ["MAIL FROM", "552 no space", false],
    ["MAIL FROM", "552-no space\n552 at all", false],
    ["MAIL FROM", "530 5.7.0 Authentication required", false],
    ["MAIL FROM", "550 5.3.2 system not accepting messages", false],
    ["MAIL FROM", "550 5.1.8 sender rejected", true],
    ["MAIL FROM", "550 unknown sender 5.3.2", true],
    ["RCPT TO", "550 5.1.1 no such user", true],
    ["RCPT TO", "552 5.2.2 mailbox full", true],
    ["DATA", "552 5.3.4 too big", true],
    ["DATA", "554 5.7.1 spam", true],
    ["DATA", "451 4.3.0 later", false],
  ])("after a refusal of %s with %s", (command, response, isPermanent) => {
    const responseCode = Number(response.slice(0, 3));
    const details = { code: "EPROTOCOL", command, response, responseCode, permanent: responseCode >= 500 };
    expect(deliveryFailure(smtpError(`It failed: ${response}`, details), "delivering")).toEqual({
      reason: `It failed: ${response.replace("\n", " ")}`,
      isPermanent,
      // A response before any mail was sent is about the server.
      ...(["CONN", "EHLO", "HELO", "STARTTLS"].includes(command) && { isUnreachable: true }),
    });
  });

  test.each([
    ["a refused connection", { code: "ESOCKET", command: "CONN", syscall: "connect" }, true],
    ["a name that is not found", { code: "EDNS", command: "CONN" }, true],
    ["a connection that takes too long", { code: "ETIMEDOUT", command: "CONN", timeoutType: "CONNECT_TIMEOUT" }, true],
    ["a greeting that doesn't come", { code: "ETIMEDOUT", command: "CONN", timeoutType: "GREETING_TIMEOUT" }, true],
    ["a refused login", { code: "EAUTH", command: "AUTH PLAIN", responseCode: 535, permanent: true }, true],
    ["an HTTP client's refused connection", { cause: Object.assign(new Error("no"), { syscall: "connect" }) }, true],
    ["an HTTP client's expired certificate", { cause: smtpError("no", { code: "CERT_HAS_EXPIRED" }) }, true],
    ["an HTTP client's wrong host", { cause: smtpError("no", { code: "ERR_TLS_CERT_ALTNAME_INVALID" }) }, true],
    ["an HTTP client's untrusted server", { cause: smtpError("no", { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }) }, true],
    ["an HTTP client that finds no TLS", { cause: smtpError("no", { code: "ERR_SSL_WRONG_VERSION_NUMBER" }) }, true],
    ["fetch that can't connect in time", { cause: smtpError("no", { code: "UND_ERR_CONNECT_TIMEOUT" }) }, true],
    [
      "an HTTP client's lost connection",
      { cause: smtpError("no", { code: "ECONNRESET", syscall: "read" }) },
      undefined,
    ],
    // The mail may be the cause.
    ["a connection that is lost during a mail", { code: "ECONNECTION", command: "CONN" }, undefined],
    ["silence during a mail", { code: "ETIMEDOUT", command: "CONN", timeoutType: "SOCKET_TIMEOUT" }, undefined],
    ["a temporary refusal of the mail", { command: "RCPT TO", responseCode: 451, permanent: false }, undefined],
  ])("after %s, the server counts as unreachable: %s", (_, details, isUnreachable) => {
    expect(deliveryFailure(smtpError("It failed.", details), "delivering").isUnreachable).toBe(isUnreachable);
  });

  test.each([
    ["a defect", {}, true],
    ["a network that failed", { code: "ECONNREFUSED" }, false],
  ])("while the mail was composed, after %s", (_, details, isPermanent) => {
    expect(deliveryFailure(smtpError("It failed.", details), "composing").isPermanent).toBe(isPermanent);
  });

  test.each([true, false])("a DeliveryError decides whether the failure is permanent: %s", (permanent) => {
    const error = new DeliveryError("The service refused the mail.", { permanent });
    expect(deliveryFailure(error, "delivering")).toEqual({
      reason: "The service refused the mail.",
      isPermanent: permanent,
    });
  });

  test("a mail that cannot be composed is not retried", () => {
    const error = new AshlarError("E_INTERNAL", "There is no view.");
    expect(deliveryFailure(error, "composing")).toEqual({ reason: "There is no view.", isPermanent: true });
  });

  test.each([undefined, null, "no", 7, { message: "no" }])(
    "a thrown value that is not an Error (%j) is not retried",
    (thrown) => {
      expect(deliveryFailure(thrown, "delivering")).toEqual({
        reason: "A value that is not an Error was thrown.",
        isPermanent: true,
      });
    },
  );
});

describe("the reason", () => {
  test("is the message, on one line of limited length", () => {
    expect(deliveryFailure(smtpError("550 no\r\n550  such\tuser", { code: "EENVELOPE" }), "delivering").reason).toBe(
      "550 no 550 such user",
    );
    expect(deliveryFailure(smtpError("x ".repeat(5000), { code: "EMESSAGE" }), "delivering").reason).toHaveLength(500);
  });

  test.each([
    [
      "552 5.7.1 blocked: https://shop.example/password_reset?token=Zm9yIGEgcmVzZXQgb2YgaGVycw now",
      "552 5.7.1 blocked: … now",
    ],
    [
      "552 blocked: //shop.example/email/verify/Zm9yIGEgcmVzZXQgb2YgaGVycw",
      "552 blocked: //shop.example/email/verify/…",
    ],
    ["451 4.7.1 mx-1.mail.example is busy (queue 3F2A)", "451 4.7.1 mx-1.mail.example is busy (queue 3F2A)"],
  ])("S60 doesn't contain links or tokens from the mail that the server repeats: %s", (message, reason) => {
    expect(deliveryFailure(smtpError(message, { code: "EMESSAGE" }), "delivering").reason).toBe(reason);
  });

  test("is only the status for a refused login, because the server may have repeated the password", () => {
    const details = { code: "EAUTH", responseCode: 535, permanent: true, response: "535 hunter2" };
    expect(deliveryFailure(smtpError("Invalid login: 535 hunter2", details), "delivering")).toEqual({
      reason: "The SMTP server refused the login (535). Check user and password.",
      isPermanent: false,
      isUnreachable: true,
    });
    expect(deliveryFailure(smtpError("no credentials", { code: "ENOAUTH" }), "delivering").reason).toBe(
      "The SMTP server refused the login. Check user and password.",
    );
  });
});

test("S199 the addresses in a reason are masked, and tokens and links are left out as before", () => {
  const said =
    "550 <ada.lovelace@mail.example-company.example>: no; see https://shop.example/a?u=ada@example.com abcdefghijklmnopqrstuvwxyz";
  expect(deliveryFailure(new Error(said), "delivering").reason).toBe(
    "550 <a…@mail.example-company.example>: no; see … …",
  );
});
