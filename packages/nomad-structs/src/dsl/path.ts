import { joinPath } from "../error.ts";

/** Where a walk is. The text is made when somebody asks: of a good body nobody does. */
export class Path {
  readonly #keys: Array<string | number> = [];

  push(key: string | number): void {
    this.#keys.push(key);
  }

  pop(): void {
    this.#keys.pop();
  }

  toString(): string {
    return this.#keys.reduce<string>(joinPath, "");
  }
}
