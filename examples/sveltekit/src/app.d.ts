import type { Authentication } from "ashlar/auth";

declare global {
  namespace App {
    interface Locals {
      visitor: Authentication;
    }
  }
}
