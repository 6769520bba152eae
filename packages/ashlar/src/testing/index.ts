export { CookieJar, type CookieJarEntry, type StoredCookie } from "./cookie-jar.ts";
export { type CapturedEvent, captureEvents, EventCapture, type EventMatch } from "./event-capture.ts";
export { type Factory, type FactoryAttributes, type FactoryValue, factory } from "./factory.ts";
export type { FormFields } from "./form-body.ts";
export type { FieldValue, FieldValues } from "./form-filling.ts";
export type { ControlKind, FormControl, FormOption, HtmlForm } from "./html-forms.ts";
export { captureMail, linksIn, MailCapture } from "./mail-capture.ts";
export type { SessionSnapshot } from "./session-snapshot.ts";
export { createTestApplication, type TestApplicationOptions } from "./test-application.ts";
export {
  type ActingAsOptions,
  createTestClient,
  type SendOptions,
  type SentRequest,
  TestClient,
  type TestClientOptions,
} from "./test-client.ts";
export { resetDatabase } from "./test-database.ts";
export { TestResponse } from "./test-response.ts";
export { freeze, travel, travelBack } from "./time.ts";
export type { ExpectedErrors } from "./validation-errors.ts";
export type { AnyUser } from "./visitor.ts";
