/** The limits that tests have in addition to the framework's. */
export type {};

declare module "../../src/throttle/limit-name.ts" {
  interface Limits {
    export: true;
    mail: true;
    orders: true;
    renew: true;
    resend: true;
    uploads: true;
    users: true;
  }
}
