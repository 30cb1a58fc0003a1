@0xd3c1a6f2b7e94d15;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("cap");

struct MessageA {
  numbers @0 :List(Int64);
  texts @1 :List(Text);
}

struct Vec3 {
  x @0 :Float32;
  y @1 :Float32;
  z @2 :Float32;
}

struct Weapon {
  name @0 :Text;
  damage @1 :Int16;
}

struct Record {
  name @0 :Text;
  at @1 :Vec3;
  hp @2 :Int16;
  mana @3 :Int16;
  look @4 :UInt8;
  inventory @5 :Data;
  weapons @6 :List(Weapon);
  equipped @7 :Weapon;
  path @8 :List(Vec3);
}

struct MessageB {
  records @0 :List(Record);
}
