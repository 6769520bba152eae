export { CookieJar } from "./cookie-jar.ts";
export { type CapturedEvent, captureEvents, EventCapture } from "./event-capture.ts";
export { type Factory, type FactoryAttributes, factory } from "./factory.ts";
export type { FormFields } from "./form-body.ts";
export type { FieldValues } from "./form-filling.ts";
export type { HtmlForm } from "./html-forms.ts";
export { captureMail, linksIn, MailCapture } from "./mail-capture.ts";
export { quickHasher } from "./quick-hasher.ts";
export type { AccountStoreUnderTest } from "./suites/account-store/account-store-test.ts";
export { type AccountStoreSuiteOptions, accountStoreSuite } from "./suites/account-store-suite.ts";
export { type DialectSuiteOptions, dialectSuite } from "./suites/dialect-suite.ts";
export type { LoginStoreUnderTest, LoginSuiteUsers } from "./suites/login-store/login-store-test.ts";
export { type LoginStoreSuiteOptions, loginStoreSuite } from "./suites/login-store-suite.ts";
export {
  type ArrivedMail,
  type MailTransportSuiteOptions,
  mailTransportSuite,
  type TransportUnderTest,
} from "./suites/mail-transport-suite.ts";
export { passwordHasherSuite } from "./suites/password-hasher-suite.ts";
export { type SessionStoreSuiteOptions, sessionStoreSuite } from "./suites/session-store-suite.ts";
export type { SuiteTest } from "./suites/suite-test.ts";
export { type ThrottleStoreSuiteOptions, throttleStoreSuite } from "./suites/throttle-store-suite.ts";
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
export type { ExpectedErrors, ExpectedRule } from "./validation-errors.ts";
