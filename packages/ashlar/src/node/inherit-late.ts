/** A platform class that srvx has a faster version of. */
export type PlatformClass = "Headers" | "Request" | "Response";

/** Members that srvx's objects have only by inheritance. */
export const INHERITED: Readonly<Record<PlatformClass, readonly string[]>> = {
  Headers: ["append", "delete", "set", "keys", "values", "forEach"],
  Request: [
    ..."attribute cache clone credentials destination duplex integrity isHistoryNavigation isReloadNavigation".split(
      " ",
    ),
    ..."keepalive mode redirect referrer referrerPolicy textStream".split(" "),
  ],
  Response: [
    ..."arrayBuffer blob body bodyUsed bytes clone formData json redirected text textStream type url".split(" "),
  ],
};

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * Makes a class inherit from a platform class as late as possible: when code reads an inherited member or the
 * prototypes of an object, as `instanceof` does. Until then, its `Symbol.toStringTag` makes it look like the platform
 * class.
 *
 * Node.js loads its `fetch` when `Response`, `Request` or `Headers` is first used, which takes 40 ms and 17 MB. The
 * build makes srvx use this function, since most servers never need it.
 *
 * @param name the name of the platform class
 * @param late the class that inherits from it
 * @param inherit makes the class inherit, including its prototype
 */
export function inheritLate(name: PlatformClass, late: { readonly prototype: object }, inherit: () => void): void {
  const { prototype } = late;
  const standIn: object = Object.create(
    // This can't be Object.prototype itself, because with --frozen-intrinsics, a proxy of it has to report its real
    // prototype.
    new Proxy(
      {},
      {
        getPrototypeOf() {
          link();
          return Object.getPrototypeOf(prototype) as object;
        },
      },
    ),
    // When a promise is resolved, `then` is looked up in the value. Finding it here avoids the proxy.
    // biome-ignore lint/suspicious/noThenProperty: it has no value, so nothing takes the object for a promise.
    { [Symbol.toStringTag]: { value: name }, then: { value: undefined } },
  );
  for (const member of [...INHERITED[name], INSPECT]) {
    Object.defineProperty(standIn, member, {
      get(this: object): unknown {
        link();
        return Reflect.get(prototype, member, this);
      },
    });
  }
  Object.setPrototypeOf(prototype, standIn);

  function link(): void {
    if (Object.getPrototypeOf(prototype) === standIn) inherit();
  }
}
