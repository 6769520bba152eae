export { CookieJar } from "./cookie-jar.ts";
export { captureEvents, EventCapture } from "./event-capture.ts";
export { type Factory, factory } from "./factory.ts";
export type { HtmlForm } from "./html-forms.ts";
export { captureMail, linksIn, MailCapture } from "./mail-capture.ts";
export { quickHasher } from "./quick-hasher.ts";
export { accountStoreSuite } from "./suites/account-store-suite.ts";
export { dialectSuite } from "./suites/dialect-suite.ts";
export type { LoginStoreUnderTest } from "./suites/login-store/login-store-test.ts";
export { loginStoreSuite } from "./suites/login-store-suite.ts";
export { mailTransportSuite } from "./suites/mail-transport-suite.ts";
export { passwordHasherSuite } from "./suites/password-hasher-suite.ts";
export { sessionStoreSuite } from "./suites/session-store-suite.ts";
export type { SuiteTest } from "./suites/suite-test.ts";
export { throttleStoreSuite } from "./suites/throttle-store-suite.ts";
export { createTestApplication, type TestApplicationOptions } from "./test-application.ts";
export {
  createTestClient,
  TestClient,
} from "./test-client.ts";
export { resetDatabase } from "./test-database.ts";
export { TestResponse } from "./test-response.ts";
export { freeze, travel, travelBack } from "./time.ts";
