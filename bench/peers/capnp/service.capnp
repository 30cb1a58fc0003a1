@0xb6f3a1d2c4e59870;

interface Service {
  echo @0 (number :UInt64) -> (number :UInt64);
  take @1 (data :Data, read :Bool) -> (sum :UInt64);
}
