/** A provider can't be reached, or its metadata is wrong. The message is for the log. */
export class ProviderDown extends Error {}

/** A provider doesn't confirm who a visitor is. */
export class ProviderRefusal extends Error {
  /** Why, for the log: the code of an error. */
  readonly reason: string;
  /** Whether it has confirmed who the visitor is, but the settings don't let them in. */
  readonly isUnwanted: boolean;

  constructor(reason: string, isUnwanted = false, options?: ErrorOptions) {
    super(`The provider's answer was refused: ${reason}`, options);
    this.reason = reason;
    this.isUnwanted = isUnwanted;
  }
}
